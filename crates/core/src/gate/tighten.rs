//! Findings that come after the gate's own, and can make a decision stricter but never milder.

use super::decision::{Decision, Finding};

impl Decision {
    /// This decision, or what `finding` says if that is stricter. The finding is reported in either case.
    #[must_use]
    pub fn tightened_by(mut self, finding: Finding) -> Self {
        if finding.answer > self.answer {
            self.answer = finding.answer;
            self.missing.clone_from(&finding.missing);
            self.layer = finding.layer;
            self.reason.clone_from(&finding.reason);
            self.would_allow.clone_from(&finding.would_allow);
            self.grants.clear();
        }
        self.findings.push(finding);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{GateAnswer, Layer};

    #[test]
    fn a_later_finding_tightens_and_never_loosens() {
        use GateAnswer::{Allow, Ask, Refuse};
        let answers = [Allow, Ask, Refuse];
        for before in answers {
            for found in answers {
                let decision = Decision {
                    answer: before,
                    required: Vec::new(),
                    missing: Vec::new(),
                    layer: Layer::Brief,
                    reason: "before".to_owned(),
                    would_allow: None,
                    grants: Vec::new(),
                    findings: Vec::new(),
                };
                let finding = Finding {
                    answer: found,
                    layer: Layer::Hook,
                    matched: None,
                    reason: "found".to_owned(),
                    missing: Vec::new(),
                    would_allow: None,
                };
                let after = decision.tightened_by(finding);
                assert_eq!(after.answer, before.max(found));
                assert_eq!(after.findings.len(), 1);
                assert_eq!(after.reason, if found > before { "found" } else { "before" });
            }
        }
    }
}

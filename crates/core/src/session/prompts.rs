//! The words: what a session says to its agent besides the standing orders, and what it asks the
//! operator. Whatever comes from outside stands inside a fence and is called what it is.

use serde_json::{Value, json};

use super::act_text;
use super::custody::Seen;
use super::held::{Held, HeldCall};
use super::past::Past;
use super::state::{Call, CallVerdict};
use crate::gate::checks::Checks;
use crate::gate::custody::FolderChange;
use crate::gate::grant::GRANT_DAYS_DEFAULT;
use crate::gate::permission::PermissionRequest;
use crate::gate::{Finding, not_authorized};
use crate::handoff;
use crate::run::ToTell;
use crate::words::fence::fenced;
use crate::words::visible::visible_line;
use crate::words::{
    Category, Choice, HandoffKind, Lasts, Layer, Metric, Mode, Offer, PhaseName, Question, QuestionKind, Rejection,
    category,
};

/// Number of lines about past acts in a runtime state.
const PAST_LINES_MAX: usize = 120;

/// Number of parts of a call that are listed in a question, protected places not counted.
const FOUND_LINES_MAX: usize = 20;

/// Number of paths that are listed in a question or a reason.
const PATHS_SHOWN_MAX: usize = 20;

/// Longest text that is shown inside a question, in characters.
const EXCERPT_CHARS_MAX: usize = 1_500;

/// Returns the brief, and the request for a confirmation summary.
pub(super) fn intake(brief: &str, mode: Option<Mode>) -> String {
    let mode = match mode {
        Some(mode) => format!("The brief fixes the mode: {mode}. Do not ask for it."),
        None => "End by asking which mode the operator wants: per-step gating, or auto-pilot.".to_owned(),
    };
    format!(
        "{}\n\n---\n\nThis is phase 0. Read the whole brief, then answer with a Confirmation Summary under the heading \
         `## Confirmation Summary`, with these five parts: Objective, Deliverables, Constraints, Tools required, \
         Unknowns. Put into Unknowns whatever is unclear, contradictory or missing; fill no gap with an assumption. \
         No tool can be called yet. {mode}",
        brief.trim_end()
    )
}

/// Returns a piece of a run, and the request for its confirmation summary.
pub(super) fn intake_of_piece(request: &str) -> String {
    format!(
        "{}\n\n---\n\nThis is phase 0 of this sub-task. Answer with a Confirmation Summary under the heading \
         `## Confirmation Summary`, with these five parts: Objective, Deliverables, Constraints, Tools required, \
         Unknowns. Name the tools that you need by their names. Put into Unknowns whatever is unclear or missing, or \
         write `none`. No tool can be called yet. The operator confirmed the run; what goes beyond the brief is \
         asked for.",
        request.trim_end()
    )
}

/// Tells the agent to begin, as its summary of a piece of a run stands.
pub(super) fn kick_off_piece(handoff: HandoffKind) -> String {
    format!(
        "Your Confirmation Summary stands. This is phase 1: do the sub-task, and nothing beyond it. If you can't go on, \
         begin your reply with `## Phase 2`. When it is done, hand off.\n\n{}",
        how_to_hand_off(handoff)
    )
}

/// Describes the form of a handoff.
#[must_use]
pub fn how_to_hand_off(handoff: HandoffKind) -> String {
    let escalate =
        r#"If it can't be done, hand off `{"kind": "escalation", "severity": "error", "reason": "..."}` instead."#;
    format!(
        "A handoff is the last fenced block of your reply, tagged `json`, one object of kind `{}` by this schema:\n\n\
         ```json-schema\n{}\n```\n\n{escalate}",
        handoff.as_str(),
        handoff::schema(handoff)
    )
}

/// Tells the agent the faults of its handoff.
pub(super) fn no_handoff(kind: HandoffKind, faults: &[String]) -> String {
    let lines: String = faults.iter().map(|fault| format!("\n- {fault}")).collect();
    format!("That is no handoff:{lines}\n\nWrite it again, whole.\n\n{}", how_to_hand_off(kind))
}

/// Tells an agent that its work brings nothing new, with what shows it.
pub(super) fn repeats_itself(sign: &str, is_idle: bool) -> String {
    if is_idle {
        return format!(
            "{sign} If reading is the work, go on. Else act on what you know; if you can't, begin your reply with \
             `## Phase 2` and say what you need."
        );
    }
    format!(
        "{sign} Doing it again will bring the same. Take another way; to wait for something, use `wait_for`, which costs \
         nothing; if you can't go on, begin your reply with `## Phase 2` and say what you need."
    )
}

/// Asks the operator about an agent that goes on repeating itself.
pub(super) fn stuck(sign: &str) -> Question {
    let options = vec![
        Offer::new(Choice::Say, "<a hint>", "the agent gets your words, and what was counted begins anew"),
        Offer::new(Choice::Continue, "continue", "the agent goes on as it does; what was counted begins anew"),
        Offer::new(Choice::Done, "done", "it is enough: the agent gives its report"),
    ];
    question(QuestionKind::Stuck, format!("The agent gets nowhere. {sign} It was told so."), Choice::Done, options)
}

/// Tells an agent to go on although it repeats itself.
pub(super) fn go_on_repeating() -> String {
    "The operator says: go on.".to_owned()
}

/// Tells an agent that said that all is done which checks of the brief fail.
pub(super) fn checks_failed(failed: &[String]) -> String {
    format!(
        "You say that all is done. The program ran the checks of the brief, and these fail:\n\n{}\n\nMend it, then say \
         again that it is done; if you can't, begin your reply with `## Phase 2`.",
        fenced("checks of the brief", &failed.join("\n\n"))
    )
}

/// Returns a second request for a confirmation summary.
pub(super) fn nudge() -> String {
    "That was not a Confirmation Summary. Answer with the heading `## Confirmation Summary` and its five parts, each on \
     a line of its own: `Objective:`, `Deliverables:`, `Constraints:`, `Tools required:`, `Unknowns:`. Nothing else \
     can happen before it."
        .to_owned()
}

/// Returns the request for a confirmation summary after a turn that was cancelled.
pub(super) fn no_summary() -> String {
    "Your turn was cancelled before there was a Confirmation Summary. Give it now: the heading `## Confirmation Summary` \
     and its five parts. Nothing else can happen before it."
        .to_owned()
}

/// Asks the agent to go on after a turn without a word and without a call.
pub(super) fn nothing_said() -> String {
    "Your last reply was empty. Go on with the work; when every deliverable is there, begin your reply with `## Phase 4`; \
     if you can't go on, with `## Phase 2` and the reason."
        .to_owned()
}

/// Tells the agent the operator's corrections to its summary.
pub(super) fn correction(text: &str) -> String {
    format!(
        "The operator does not accept the summary yet and says:\n\n{}\n\nGive a new Confirmation Summary that takes this in.",
        text.trim()
    )
}

/// Tells the agent that its summary is accepted.
pub(super) fn kick_off(mode: Mode, scope_locked: bool) -> String {
    let how = match mode {
        Mode::Gated => {
            "Per-step gating: do the first step, report it, and name the next one. The operator answers between steps."
        }
        Mode::Auto => {
            "Auto-pilot: work through the brief. Stop only for a blocker (phase 2) or for something destructive or out of \
             scope (phase 3). Report at checkpoints that matter."
        }
    };
    let lock = if scope_locked {
        " The scope is locked: what the brief does not ask for is not done, even if it would be useful."
    } else {
        ""
    };
    format!(
        "The operator accepted your Confirmation Summary. This is phase 1. {how}{lock} When every deliverable is there, begin your reply with `## Phase 4`."
    )
}

/// Tells the agent to go on. `was_cut`: the last reply ended at its length limit.
pub(super) fn go_on(mode: Mode, was_cut: bool) -> String {
    after_a_cut(
        was_cut,
        match mode {
            Mode::Gated => "Go on with the next step.",
            Mode::Auto => {
                "Go on. When every deliverable is there, begin your reply with `## Phase 4`; if you can't go on, with `## Phase 2`."
            }
        },
    )
}

/// Tells an agent that works on a piece of a run to go on: it ends with its handoff.
pub(super) fn go_on_with_piece(was_cut: bool) -> String {
    let on = "Go on. When the sub-task is done, hand off; if you can't go on, begin your reply with `## Phase 2`.";
    after_a_cut(was_cut, on)
}

fn after_a_cut(was_cut: bool, on: &str) -> String {
    let cut = "Your last reply reached its length limit and was cut there. Go on where it stopped, in smaller pieces. ";
    format!("{}{on}", if was_cut { cut } else { "" })
}

/// Tells the agent the operator's words between steps.
pub(super) fn redirect(text: &str, scope_locked: bool) -> String {
    if scope_locked {
        return format!(
            "{text}\n\n(The brief's scope is locked: if this asks for more than the brief covers, say so instead of doing it.)"
        );
    }
    text.to_owned()
}

/// Tells the agent what came for it.
pub(super) fn said(said: &ToTell) -> String {
    match said {
        ToTell::Steer(text) => steered(text),
        ToTell::Amended(amendment) => amended(&amendment.lines()),
        ToTell::Changed(change) => folder_changed(change),
    }
}

/// Tells the agent the operator's words that answer no question.
fn steered(text: &str) -> String {
    format!("The operator says:\n\n{}", text.trim())
}

/// Tells the agent the operator's changes to the brief.
fn amended(lines: &[String]) -> String {
    let lines: String = lines.iter().map(|line| format!("\n- {line}")).collect();
    format!("The operator changed the brief:{lines}\n\nGo on under the brief as it is now.")
}

/// Tells the agent what others changed in the folder while the run stood still.
fn folder_changed(change: &FolderChange) -> String {
    let facts: String = changed_by_others(change).iter().map(|fact| format!("\n- {fact}")).collect();
    format!(
        "While this run stood still, somebody else changed the working folder:{facts}\n\nRead what you need of it again \
         before you change it, and leave what is not yours as it is."
    )
}

/// Describes the changes of others in the folder, a sentence each: what is checked out, and the files.
#[must_use]
pub fn changed_by_others(change: &FolderChange) -> Vec<String> {
    let quoted = |head: &Option<String>| head.as_deref().map(|head| format!("`{}`", visible_name(head)));
    let head = match (quoted(&change.head_before), quoted(&change.head_now)) {
        (None, None) => None,
        (Some(before), Some(now)) => Some(format!("Checked out is {now}; it was {before}.")),
        (None, Some(now)) => Some(format!("Checked out is {now}; before there was no repository.")),
        (Some(before), None) => Some(format!("There is no repository any more; checked out was {before}.")),
    };
    let files = (!change.paths.is_empty()).then(|| format!("Changed: {}.", named(&change.paths, change.more)));
    head.into_iter().chain(files).collect()
}

/// Tells the agent that the announced act may be done.
pub(super) fn approved() -> String {
    "The operator approved what you announced. Do that, and nothing beyond it.".to_owned()
}

/// Tells the agent that the announced act may not be done.
pub(super) fn denied(note: Option<&str>) -> String {
    let note = note.map(|note| format!(" and says: {note}")).unwrap_or_default();
    format!(
        "The operator denied what you announced{note}. Do not do it, in this form or another. Find another way, or say \
         why you can't go on."
    )
}

/// Gives a blocked agent the knowledge that it asked for.
pub(super) fn context(text: &str) -> String {
    format!("The operator answers your blocker:\n\n{}\n\nGo on from where you stopped.", text.trim())
}

/// Returns the part of the messages no longer sent that must not be lost. Text of the agent and of tools stands in a
/// fence.
pub(super) fn runtime_state(brief: &str, past: &Past, step: u32, how: &str, approved: &[Category]) -> String {
    let mut text = format!(
        "Older messages of this conversation are left out from here on, to make room. This is the runtime state, \
         written by Adjutant; what it says of the brief, the summary and the operator holds as before.\n\n\
         ## The brief\n\n{}\n",
        brief.trim_end()
    );
    if let Some(summary) = &past.summary {
        text.push_str(&format!(
            "\n## Your Confirmation Summary, which the operator accepted\n\n{}\n",
            quoted_whole(summary)
        ));
    }
    text.push_str(&format!("\n## Where you are\n\nStep {step} of phase 1. {how}\n"));
    if !approved.is_empty() {
        let approved: Vec<&str> = approved.iter().map(Category::as_str).collect();
        text.push_str(&format!("The operator approved for the rest of the run: {}.\n", approved.join(", ")));
    }
    if !past.words.is_empty() {
        text.push_str("\n## What the operator said since, oldest first\n");
        for words in &past.words {
            text.push_str(&format!("\n{}\n", quoted_whole(words)));
        }
    }
    text.push_str("\n## What you did so far, one line each\n\n");
    let mut lines = Vec::new();
    for turn in &past.turns {
        lines.push(format!("  | turn {}: {}\n", turn.number, turn.said));
        lines.extend(turn.calls.iter().map(|call| format!("  |   called {}: {}\n", call.what, call.came)));
    }
    let kept = lines.len().saturating_sub(PAST_LINES_MAX);
    if kept > 0 {
        text.push_str(&format!("  | ({kept} older lines are left out)\n"));
    }
    text.extend(lines.drain(kept..));
    text.push_str("\nThe files in the folder are as you left them. Call a tool again for what you no longer see.");
    text
}

/// Returns the request for the final report.
pub(super) fn report() -> String {
    "This is phase 4. Report in a few lines: what was delivered, what is unresolved, which questions are open. Leave out \
     what anyone can see in the work itself. No tool can be called any more."
        .to_owned()
}

/// Tells the agent that a call was not carried out.
pub(super) fn rejected(rejection: Rejection, tool: &str, note: Option<&str>) -> String {
    let note = note.unwrap_or_default();
    match rejection {
        Rejection::UnknownTool => format!("There is no tool `{tool}`. The tools are: {note}."),
        Rejection::BadArguments => {
            format!("The arguments of `{tool}` are not valid JSON: {note}. Call it again with a JSON object.")
        }
        Rejection::Refused => format!("`{tool}` was refused: {note}."),
        Rejection::Denied if note.is_empty() => format!(
            "The operator denied this call of `{tool}`. Do not repeat it; take another way, or say why you can't go on."
        ),
        Rejection::Denied => format!(
            "The operator denied this call of `{tool}` and says: {note}. Do not repeat it; take another way, or say why you can't go on."
        ),
        Rejection::RetryCap => format!(
            "This call of `{tool}` has failed too often in this step and was not made again. Change the arguments, take \
             another way, or report a blocker."
        ),
        Rejection::Phase => format!("`{tool}` was not called: no tool can be called in this phase."),
        Rejection::Skipped => format!("`{tool}` was not called: the same turn stopped or was denied."),
        Rejection::EffectUnknown => format!(
            "This call of `{tool}` was interrupted, and what it did is unknown. It was not repeated. Find out what is \
             there now before you go on."
        ),
        Rejection::Answered => note.to_owned(),
    }
}

/// Returns the reason that a judge's command was not run: it is none of the brief's checks.
pub(super) fn no_check(checks: &Checks) -> String {
    format!(
        "you may run the brief's checks alone, letter for letter, in the working directory and the usual shell. They \
         are:\n{}\nThis command is none of them",
        checks.listed()
    )
}

/// Warns the operator that the agent used phrases that no agent shall use.
pub(super) fn banned_phrases(payload: &Value) -> String {
    let phrases = payload.get("phrases").and_then(Value::as_array);
    let phrases: Vec<&str> = phrases.into_iter().flatten().filter_map(Value::as_str).collect();
    format!("the agent uses phrases that its standing orders ban: {}", phrases.join(", "))
}

fn question(kind: QuestionKind, text: String, default: Choice, options: Vec<Offer>) -> Question {
    Question { kind, text, options, default, deadline_ms: None, acts: 0 }
}

/// Asks if the summary is right. `is_gated` is true if gated mode was fixed before the run: then no word here undoes it.
pub(super) fn confirmation(
    summary: Option<(&str, bool)>,
    mode: Option<Mode>,
    is_gated: bool,
    late: Option<&str>,
) -> Question {
    let mut text = match summary {
        Some((_, true)) => "Is this summary what you want?".to_owned(),
        Some((_, false)) => {
            "No Confirmation Summary was recognised in the agent's reply. Go on all the same?".to_owned()
        }
        None => "The turn was cancelled before there was a summary. What now?".to_owned(),
    };
    if let Some(deadline) = late {
        text.push_str(&format!(" The brief's deadline, {deadline}, has already passed."));
    }
    let mut options = vec![match mode {
        _ if summary.is_none() => Offer::new(Choice::Accept, "go", "the agent is asked for its summary again"),
        Some(mode) => Offer::new(Choice::Accept, "go", &format!("the work begins, in {mode} mode")),
        None => Offer::new(Choice::Accept, "go", "the work begins; you are asked between steps"),
    }];
    if !is_gated {
        options.push(Offer::new(
            Choice::AcceptAuto,
            "auto",
            "the work begins; you are asked only when something needs you",
        ));
        options.push(Offer::new(Choice::AcceptGated, "gated", "the work begins; you are asked between steps"));
    }
    options.push(Offer::new(
        Choice::Correct,
        "<anything else>",
        "the agent gets it as a correction and summarises again",
    ));
    options.push(Offer::new(Choice::Decline, "no", "the run ends here; nothing was done"));
    question(QuestionKind::Confirmation, text, Choice::Decline, options)
}

/// Reason that an agent does not simply go on with its next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HaltReason {
    /// The operator cancelled its turn.
    Cancelled,
    /// It replied with nothing, twice in a row.
    Silent,
    /// It said the same in turn after turn.
    Same {
        /// Number of times, one after the other.
        times: u32,
    },
}

/// Asks if the session shall go on with the next step.
pub(super) fn step(done: u32, limit: u32, stop: Option<HaltReason>) -> Question {
    let text = match stop {
        Some(HaltReason::Cancelled) => "You cancelled the agent's turn. What now?".to_owned(),
        Some(HaltReason::Silent) => {
            "The agent replied with nothing, also when it was asked to go on. What now?".to_owned()
        }
        Some(HaltReason::Same { times }) => {
            format!("The agent has said the same {times} times in a row and called no tool. What now?")
        }
        None => format!("Step {done} of at most {limit} is done. Go on?"),
    };
    let options = vec![
        Offer::new(Choice::Continue, "ok", "the next step begins"),
        Offer::new(Choice::ContinueAuto, "auto", "the next step begins, and you are not asked between steps any more"),
        Offer::new(Choice::Say, "<anything else>", "the agent gets it as your word on the next step"),
        Offer::new(Choice::Done, "done", "the run ends here, without a report"),
    ];
    question(QuestionKind::Step, text, Choice::Done, options)
}

/// Asks if this may be done; acts that are several are numbered, so that each can be answered for itself.
///
/// Of each held call the parts and targets that the gate asks about are named, each protected place in whole, so that a yes
/// is a yes to them.
pub(super) fn held(held: &Held<'_>, calls: &[HeldCall<'_>], turn: &str, scope_locked: bool) -> Question {
    let is_one = held.count() == 1;
    let mut text = String::new();
    for (place, asked) in calls.iter().enumerate() {
        if is_one {
            text.push_str(&held_call(asked, "The agent wants to ", act_text::INDENTS[0]));
            text.push_str(&unauthorized(&unauthorized_in(asked.call), act_text::INDENTS[0]));
        } else {
            text.push_str(&held_call(asked, &format!("{}. The agent wants to ", place + 1), act_text::INDENTS[1]));
        }
    }
    if !is_one {
        // What nothing authorizes is said once for all of them.
        let mut missing: Vec<Category> = Vec::new();
        for category in calls.iter().flat_map(|asked| unauthorized_in(asked.call)) {
            if !missing.contains(&category) {
                missing.push(category);
            }
        }
        text.push_str(&unauthorized(&missing, ""));
    }
    if held.has_announcement() {
        if !is_one {
            text.push_str(&format!("{}. ", held.count()));
        }
        if held.declared {
            text.push_str("The agent stopped in phase 3 and asks:\n");
        } else {
            let acts: Vec<String> = held.acts.iter().map(|category| category::in_short(category)).collect();
            let acts = acts.join(", ");
            text.push_str(&format!("The agent says it is about to {acts}. Your brief doesn't allow that:\n"));
        }
        text.push_str(&quoted(turn));
    }
    text.push_str(if is_one { "Allow this?" } else { "Which of these do you allow?" });
    let mut question = question(QuestionKind::Destructive, text, Choice::Deny, held_offers(held, calls, scope_locked));
    question.acts = if is_one { 0 } else { u32::try_from(held.count()).unwrap_or(u32::MAX) };
    question
}

/// Describes a held call: what it would do, and why it is asked about, but for what nothing authorizes.
fn held_call(asked: &HeldCall<'_>, wants: &str, indent: &str) -> String {
    let HeldCall { call, findings, .. } = asked;
    let Some(CallVerdict::Asked { reason, .. }) = &call.verdict else { return String::new() };
    let mut text = act_text::act(&call.call, wants, indent);
    let is_unauthorized = !unauthorized_in(call).is_empty();
    let indented = |line: &str| format!("{indent}{line}\n");
    text.extend(found(call, findings, is_unauthorized).lines().map(indented));
    // What a line about a part says is not said twice.
    let is_said = findings.iter().any(|finding| finding.matched.is_some() && finding.reason == *reason);
    if !is_unauthorized && !is_said {
        text.push_str(&indented(&visible_line(reason)));
    }
    text
}

/// Returns the categories that nothing authorizes, if a call is asked about for no other reason.
fn unauthorized_in(call: &Call) -> Vec<Category> {
    let Some(CallVerdict::Asked { missing, reason }) = &call.verdict else { return Vec::new() };
    let missing: Vec<Category> = missing.iter().map(Category::new).collect();
    if reason.ends_with(&not_authorized(&missing)) { missing } else { Vec::new() }
}

/// Says which categories nothing authorizes, on a line of its own; nothing if there are none.
fn unauthorized(missing: &[Category], indent: &str) -> String {
    if missing.is_empty() { String::new() } else { format!("{indent}{}\n", visible_line(&not_authorized(missing))) }
}

fn held_offers(held: &Held<'_>, calls: &[HeldCall<'_>], scope_locked: bool) -> Vec<Offer> {
    let again: Vec<&HeldCall<'_>> = calls.iter().filter(|asked| asked.again.is_some()).collect();
    let is_one = held.count() == 1;
    let mut options = Vec::new();
    if is_one {
        options.push(Offer::new(Choice::Once, "y", "yes, this once"));
        if let [HeldCall { call, again: Some(again), .. }] = again.as_slice() {
            let (act, may_differ) = (again.describe(&call.call.name), again.may_differ());
            options.push(Offer::new(
                Choice::Again,
                "again",
                &format!("yes, and the same again for the rest of the run without asking: {act}; {may_differ}"),
            ));
        }
    } else {
        let again = if again.is_empty() { "" } else { "; `1 again`: that act again in this run, whatever its content" };
        options.push(Offer::new(
            Choice::Chosen,
            "<1,3>",
            &format!("yes to these, no to the others (`1; 2: <why>`: why not 2{again})"),
        ));
        options.push(Offer::new(Choice::Once, "all", "yes to all of them, this once"));
    }
    let no = if is_one { "n" } else { "none" };
    let effect = format!("no; the agent looks for another way ({no}: <why>, or any sentence, tells it why)");
    options.push(Offer::new(Choice::Deny, no, &effect));
    // What is widest stands last. A yes for the run is for categories: where none is missing, it would be for nothing.
    let categories = held.categories();
    if !scope_locked && (!categories.is_empty() || held.calls.is_empty()) {
        let whatever = match categories.as_slice() {
            [] => "whatever else it announces".to_owned(),
            _ => format!("everything that needs {}", categories.join(", ")),
        };
        let effect = format!("yes, and for the rest of the run {whatever}, whatever it is, without asking");
        options.push(Offer::new(Choice::ForRun, "category", &effect));
    }
    options
}

/// Returns the parts of a call that are asked about, a line each, with all that each does. Parts that are protected or can't
/// be read come first and in whole. Where `is_unauthorized`, that nothing authorizes them is said elsewhere.
fn found(call: &Call, findings: &[Finding], is_unauthorized: bool) -> String {
    let (protected, others): (Vec<_>, Vec<_>) = findings
        .iter()
        .filter(|finding| finding.matched.is_some())
        .partition(|finding| matches!(finding.layer, Layer::Protected | Layer::Call));
    let (protected, others) = (by_part(&protected, is_unauthorized), by_part(&others, is_unauthorized));
    let left_out = others.len().saturating_sub(FOUND_LINES_MAX);
    let shown = protected.iter().chain(others.iter().take(FOUND_LINES_MAX));
    let command = call.call.args.get("cmd").and_then(Value::as_str).unwrap_or_default().trim();
    let line = |(matched, does): &(&str, Vec<String>)| {
        let does = visible_line(&does.join("; ")).into_owned();
        // The whole command stands above.
        match *matched == command {
            true => format!("- {does}\n"),
            false => format!("- `{}`: {does}\n", excerpt(&visible_line(matched))),
        }
    };
    let mut text: String = shown.map(line).collect();
    if left_out > 0 {
        text.push_str(&format!("- and {left_out} more\n"));
    }
    text
}

/// Returns each part that findings are about, with what they say of it; where `is_unauthorized`, only what it does.
fn by_part<'f>(findings: &[&'f Finding], is_unauthorized: bool) -> Vec<(&'f str, Vec<String>)> {
    let mut parts: Vec<(&str, Vec<String>)> = Vec::new();
    for finding in findings {
        let matched = finding.matched.as_deref().unwrap_or_default();
        let unauthorized = format!(": {}", not_authorized(&finding.missing));
        let does = finding.reason.strip_suffix(&unauthorized).filter(|_| is_unauthorized);
        let does = does.unwrap_or(&finding.reason).to_owned();
        match parts.iter_mut().find(|(part, _)| *part == matched) {
            Some((_, all)) if all.contains(&does) => {}
            Some((_, all)) => all.push(does),
            None => parts.push((matched, vec![does])),
        }
    }
    parts
}

/// Asks if the agent may do this later.
pub(super) fn permission(request: &PermissionRequest, longest: Lasts) -> Question {
    let categories: Vec<&str> = request.categories.iter().map(Category::as_str).collect();
    let mut text = format!("The agent asks for a permission ({}):\n{}", categories.join(", "), quoted(&request.action));
    text.push_str(&format!("because:\n{}", quoted(&request.reasoning)));
    if let Some(fallback) = &request.fallback {
        text.push_str(&format!("if not:\n{}", quoted(fallback)));
    }
    let mut bound = |what: &str, value: &Option<String>| match value {
        Some(value) => text.push_str(&format!("  {what}: {}\n", visible_line(value))),
        None => text.push_str(&format!("  {what}: any\n")),
    };
    bound("tool", &request.tool);
    if request.command.is_some() || request.path.is_none() {
        bound("command", &request.command);
    }
    if request.path.is_some() {
        bound("paths and hosts", &request.path);
    }
    if let Some(uses) = request.uses {
        text.push_str(&format!("  at most {uses} calls\n"));
    }
    text.push_str("Allow this? An empty line is a no.");
    let asked = request.lasts.min(longest);
    let mut options = vec![Offer::new(Choice::AsAsked, "y", &format!("yes, {}", how_long(asked)))];
    for (lasts, choice, reply) in [
        (Lasts::ThisCall, Choice::Once, "once"),
        (Lasts::ThisRun, Choice::ForRun, "s"),
        (Lasts::Persistent, Choice::Persistent, "p"),
    ] {
        if lasts != asked && lasts <= longest {
            options.push(Offer::new(choice, reply, &format!("yes, {}", how_long(lasts))));
        }
    }
    options.push(Offer::new(Choice::Deny, "n", "no; the agent looks for another way (n: <why> tells it why)"));
    question(QuestionKind::Permission, text, Choice::Deny, options)
}

fn how_long(lasts: Lasts) -> String {
    match lasts {
        Lasts::ThisCall => "for one call".to_owned(),
        Lasts::ThisRun => "for the rest of the run".to_owned(),
        Lasts::Persistent => {
            format!("for later runs of the project too, for {GRANT_DAYS_DEFAULT} days (p <YYYY-MM-DD>: until that day)")
        }
    }
}

/// Tells the agent that it got a permission, in the peer's form.
pub(super) fn granted(grant_id: &str, lasts: Lasts, note: Option<&str>) -> String {
    json!({"granted": true, "scope_granted": lasts, "operator_note": note, "grant_id": grant_id}).to_string()
}

/// Tells the agent that it got no permission, in the peer's form.
pub(super) fn not_granted(grant_id: &str, note: Option<&str>) -> String {
    json!({"granted": false, "operator_note": note, "grant_id": grant_id}).to_string()
}

/// Tells the agent that it asks again for a permission that was denied.
pub(super) fn denied_before() -> String {
    let note = "The operator denied this very request before and is not asked again. Find another way, or say why you \
                can't go on.";
    json!({"granted": false, "operator_note": note}).to_string()
}

/// Returns the changes outside the scope, in a line.
fn outside(seen: &Seen) -> String {
    if let Some(error) = &seen.error {
        return format!("what changed in the working tree can't be told: {}", visible_line(error));
    }
    let paths = &seen.outside.paths;
    format!("outside the brief's scope changed {}", named(paths, seen.outside.more))
}

/// Returns the first of these paths and the number of further ones, `more` of which are not in the list.
fn named(paths: &[String], more: u64) -> String {
    let shown: Vec<String> =
        paths.iter().take(PATHS_SHOWN_MAX).map(|path| format!("`{}`", visible_name(path))).collect();
    let more = paths.len().saturating_sub(PATHS_SHOWN_MAX) as u64 + more;
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// Returns a name between backticks. A backtick in it is told like bytes that are no text, so that it ends no name.
fn visible_name(name: &str) -> String {
    visible_line(name).replace('`', "\\x60")
}

/// Returns the reason that a session under a locked scope does not go on.
pub(super) fn outside_locked(seen: &Seen) -> String {
    format!("{}; the scope is locked, so that it must be as it was before the agent goes on", outside(seen))
}

/// Returns the reason that a session does not go on if its operator did not accept the changes.
pub(super) fn outside_refused(seen: &Seen) -> String {
    format!("{}; the operator did not accept it", outside(seen))
}

/// Tells the agent to do something about the changes outside the scope.
pub(super) fn outside_said(seen: &Seen, text: &str) -> String {
    format!("At the end of the step it shows: {}. The operator says:\n\n{}", outside(seen), text.trim())
}

/// Asks if a change outside the scope is accepted.
pub(super) fn outside_scope(seen: &Seen) -> Question {
    let text = format!("At the end of the step it shows: {}. No gate was asked about it. Go on?", outside(seen));
    let effect = match seen.error {
        Some(_) => "the work goes on, and the working tree is not looked at any more in this run",
        None => "the work goes on; these paths are not asked about again",
    };
    let options = vec![
        Offer::new(Choice::Accept, "accept", effect),
        Offer::new(Choice::Deny, "stop", "no; the session is blocked until you say what the agent should know"),
        Offer::new(Choice::Say, "<anything else>", "the agent gets it and does something about it"),
    ];
    question(QuestionKind::Scope, text, Choice::Deny, options)
}

/// Asks the operator for the knowledge that a blocked agent needs.
pub(super) fn blocked(reason: &str) -> Question {
    let text = format!("The agent is blocked:\n{}What should it know?", quoted(reason));
    let options = vec![Offer::new(Choice::Context, "<your answer>", "the agent gets it and goes on")];
    question(QuestionKind::Blocker, text, Choice::Context, options)
}

/// Asks for more steps.
pub(super) fn limit_reached(limit: u32) -> Question {
    let text = format!("The session took all of its {limit} steps without completing the brief. How many more?");
    let options = vec![Offer::new(Choice::Extend, "<a number>", "the session goes on for so many more steps")];
    question(QuestionKind::Limit, text, Choice::Extend, options)
}

/// Owner of a limit that was reached: the run, if no field is set.
#[derive(Debug, Default)]
pub(super) struct WhoseLimit {
    pub(super) role: Option<String>,
    pub(super) phase: Option<PhaseName>,
    pub(super) learned: Option<String>,
}

/// Asks for more of a limited metric. The usage may be an estimate.
pub(super) fn budget_reached(
    metric: Metric,
    (used, is_estimate): (u64, bool),
    limit: u64,
    whose: &WhoseLimit,
) -> Question {
    let who = match (whose.phase, &whose.role) {
        (Some(phase), _) => format!("phase {}", phase.as_str()),
        (None, Some(role)) if whose.learned.is_some() => format!("session of the role {role}"),
        (None, Some(role)) => format!("role {role}"),
        (None, None) => "run".to_owned(),
    };
    let by = whose.learned.as_ref().map(|slug| format!(" by the learned profile {slug}")).unwrap_or_default();
    let next = if metric == Metric::ToolCalls { "call" } else { "request" };
    let about = if is_estimate { "about " } else { "" };
    let text = format!(
        "The {who} has used {about}{} of the {} that it may use{by}, and the next {next} does not fit into what is left. How \
         many more {}?",
        metric.shown(used),
        metric.shown(limit),
        metric.unit()
    );
    let effect = format!("the {who} may use so many more {}", metric.unit());
    question(QuestionKind::Limit, text, Choice::Extend, vec![Offer::new(Choice::Extend, "<a number>", &effect)])
}

/// Asks if the run shall go on after its deadline.
pub(super) fn deadline_passed(deadline: &str) -> Question {
    let options = vec![
        Offer::new(Choice::Continue, "continue", "the work goes on; you are not asked again"),
        Offer::new(Choice::Done, "done", "the run ends here, without a report"),
    ];
    question(
        QuestionKind::Deadline,
        format!("The brief's deadline, {deadline}, has passed. Go on?"),
        Choice::Done,
        options,
    )
}

/// The reason to give an agent up, beside what it said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GivenUp {
    /// That says all.
    AsSaid,
    /// The request is too long, and nothing is left to leave out of it.
    TooLong,
    /// It asks to be waited for longer than the patience allows.
    Impatient {
        /// The wait that it asks for, in milliseconds.
        asked_ms: u64,
        /// The patience, in milliseconds.
        patience_ms: u64,
    },
}

/// Asks if an agent that can't be reached shall be tried again.
pub(super) fn agent_failed(message: &str, attempts: u32, why: GivenUp) -> Question {
    let tried = if attempts > 1 { format!(" ({attempts} attempts)") } else { String::new() };
    let advice = match why {
        GivenUp::AsSaid => String::new(),
        GivenUp::TooLong => "Nothing more can be left out of the request. Give the server a larger window, or end the \
                             run with `adjutant stop` and begin again with a model that has one. "
            .to_owned(),
        GivenUp::Impatient { asked_ms, patience_ms } => format!(
            "It asks to wait for {}, which is more than is left of the patience of {} (`--patience` changes it). ",
            Metric::WallClock.shown(asked_ms),
            Metric::WallClock.shown(patience_ms)
        ),
    };
    let text = format!("The model did not answer{tried}:\n{}{advice}Try again?", quoted(message));
    question(
        QuestionKind::Failure,
        text,
        Choice::Retry,
        vec![Offer::new(Choice::Retry, "retry", "the turn is asked for again")],
    )
}

fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT_CHARS_MAX) {
        None => text.to_owned(),
        Some((cut, _)) => format!("{}... ({} bytes in all)", &text[..cut], text.len()),
    }
}

/// Returns a text in whole, each line marked: for text that must be verbatim.
fn quoted_whole(text: &str) -> String {
    text.trim().lines().map(|line| format!("  | {line}\n")).collect()
}

/// Returns a text from outside, each line marked, so that nobody takes it for ours.
fn quoted(text: &str) -> String {
    excerpt(text.trim()).lines().map(|line| format!("  | {line}\n")).collect()
}

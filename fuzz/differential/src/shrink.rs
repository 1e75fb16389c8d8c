//! Makes a line that destroys something shorter, as long as it is called safe and still does.

use anyhow::Result;

use crate::arena::Arena;
use crate::judge::{Judge, SHELLS};
use crate::trial::Trial;

/// Number of times that a line is made shorter.
const ROUNDS: usize = 40;
/// Number of shorter lines tried at a time.
const TRIED_MAX: usize = 400;

/// The shortest line that was found, with the shell of `trial`.
///
/// # Errors
///
/// The arena's.
pub fn shrunk(arena: &Arena, judge: &Judge, trial: &Trial, limit_ms: u64) -> Result<Trial> {
    let Some(shell) = SHELLS.into_iter().find(|(shell, _)| *shell == trial.shell) else { return Ok(trial.clone()) };
    let mut best = trial.clone();
    for _ in 0..ROUNDS {
        let lines = shorter(&best.line);
        let tried = lines.iter().filter_map(|line| judge.trial(line, shell));
        let tried: Vec<Trial> = tried.map(|tried| Trial { skips_slow: trial.skips_slow, ..tried }).collect();
        let mut next: Option<Trial> = None;
        let mut at = 0;
        while at < tried.len() {
            let round = arena.run(&tried[at..], limit_ms)?;
            let lost = round.lost.iter().filter_map(|(number, _)| tried.get(at + number)).cloned();
            next = next.into_iter().chain(lost).min_by_key(|trial| trial.line.len());
            at += round.begun.max(1);
        }
        match next {
            Some(next) => best = next,
            None => break,
        }
    }
    Ok(best)
}

/// The line without a run of its characters: long runs first.
fn shorter(line: &str) -> Vec<String> {
    let chars: Vec<char> = line.chars().collect();
    let mut lines = Vec::new();
    let mut length = chars.len() / 2;
    while length > 0 {
        for start in (0..=chars.len() - length).step_by(length.div_ceil(2)) {
            lines.push(chars[..start].iter().chain(&chars[start + length..]).collect());
        }
        length = if length <= 6 { length - 1 } else { length / 2 };
    }
    lines.truncate(TRIED_MAX);
    lines.dedup();
    lines
}

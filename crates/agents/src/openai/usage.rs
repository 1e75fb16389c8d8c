//! Counts of both formats in the normal form.

use adjutant_ports::Usage;
use serde_json::Value;

/// Returns the counts of an answer, whose fields begin with `input` and `output`, or with the older names `prompt` and
/// `completion`. `None` if nothing was counted.
///
/// The formats count what was read from a cache, or written to one, as input too; the normal form has each once. Counts
/// that contradict each other are unknown.
pub(super) fn usage(counts: &Value, input: &str, output: &str) -> Option<Usage> {
    let number = |value: &Value, name: &str| value.get(name).and_then(Value::as_u64);
    let detail = |of: &str, name: &str| counts.get(format!("{of}_tokens_details")).and_then(|all| number(all, name));
    let input_all = number(counts, &format!("{input}_tokens"));
    let (read, written) = (detail(input, "cached_tokens"), detail(input, "cache_write_tokens"));
    let (said, thought) = (number(counts, &format!("{output}_tokens")), detail(output, "reasoning_tokens"));
    let usage = Usage {
        input_tokens: input_all
            .and_then(|all| all.checked_sub(read.unwrap_or(0)))
            .and_then(|rest| rest.checked_sub(written.unwrap_or(0))),
        cache_read_tokens: read,
        cache_write_tokens: written,
        output_tokens: output_tokens(input_all, said, thought, number(counts, "total_tokens")),
        reasoning_tokens: thought,
    };
    Some(usage).filter(|usage| *usage != Usage::default())
}

/// Returns the number of all output tokens. OpenAI counts thinking as output. xAI counts it beside (the example in its
/// reference has 32 tokens of prompt, 9 of completion, 94 of reasoning and 135 in all), and so do others: the total
/// tells.
fn output_tokens(input: Option<u64>, said: Option<u64>, thought: Option<u64>, total: Option<u64>) -> Option<u64> {
    let beside = said?.checked_add(thought.unwrap_or(0))?;
    let is_beside = total.is_some() && input.and_then(|input| input.checked_add(beside)) == total;
    if is_beside { Some(beside) } else { said }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(counts: &Value, expected: Option<[Option<u64>; 5]>) {
        let usage = usage(counts, "prompt", "completion").map(|usage| {
            [
                usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens,
                usage.reasoning_tokens,
            ]
        });
        assert_eq!(usage, expected, "{counts}");
    }

    #[test]
    fn every_token_is_counted_once() {
        check(
            &json!({ "prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150,
                "prompt_tokens_details": { "cached_tokens": 60, "cache_write_tokens": 30 },
                "completion_tokens_details": { "reasoning_tokens": 20 } }),
            Some([Some(10), Some(60), Some(30), Some(50), Some(20)]),
        );
        check(
            &json!({ "prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135,
                "prompt_tokens_details": { "cached_tokens": 6 },
                "completion_tokens_details": { "reasoning_tokens": 94 } }),
            Some([Some(26), Some(6), None, Some(103), Some(94)]),
        );
    }

    #[test]
    fn what_nobody_counted_stays_unknown() {
        check(&Value::Null, None);
        check(&json!({}), None);
        check(&json!({ "prompt_tokens": null, "prompt_tokens_details": null }), None);
        check(
            &json!({ "prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7 }),
            Some([Some(3), None, None, Some(4), None]),
        );
        check(
            &json!({ "completion_tokens": 4, "completion_tokens_details": { "reasoning_tokens": 9 } }),
            Some([None, None, None, Some(4), Some(9)]),
        );
    }

    #[test]
    fn counts_that_contradict_each_other_are_unknown() {
        check(
            &json!({ "prompt_tokens": 3, "prompt_tokens_details": { "cached_tokens": 4, "cache_write_tokens": 0 } }),
            Some([None, Some(4), Some(0), None, None]),
        );
    }
}

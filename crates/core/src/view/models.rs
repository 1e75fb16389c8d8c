//! The models that the APIs behind adapters list.

use serde::Serialize;

use super::columns::table_of;

/// The models of one adapter's API, or the reason why there are none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelList {
    /// The adapter's word in a brief.
    pub adapter: String,
    /// Address of its API; absent if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The models, in the server's order; absent if there is no list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<Vec<ModelRow>>,
    /// Reason why there is no list; absent if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Advice about the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// One model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelRow {
    /// The name to ask for it by.
    pub id: String,
    /// The tokens of its window, where the server says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// The most tokens of one reply, where the server says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens_max: Option<u64>,
    /// True if a run with this adapter would use it by default.
    pub is_chosen: bool,
}

/// The table of all models that were listed; empty if none were. `*` marks those that a run would use.
#[must_use]
pub fn text(lists: &[ModelList]) -> String {
    let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let rows: Vec<Vec<String>> = lists
        .iter()
        .flat_map(|list| list.models.iter().flatten().map(|model| (&list.adapter, model)))
        .map(|(adapter, model)| {
            let mark = if model.is_chosen { " *" } else { "" };
            let id = format!("{}{mark}", model.id);
            vec![adapter.clone(), id, number(model.window), number(model.output_tokens_max)]
        })
        .collect();
    if rows.is_empty() { String::new() } else { table_of(&["adapter", "model", "window", "reply"], &rows) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_does_not_say_is_a_dash_and_the_chosen_one_is_marked() {
        let model =
            |id: &str, window, is_chosen| ModelRow { id: id.into(), window, output_tokens_max: None, is_chosen };
        let list = |adapter: &str, models: Option<Vec<ModelRow>>| ModelList {
            adapter: adapter.into(),
            base_url: None,
            models,
            error: None,
            hint: None,
        };
        let lists = [
            list("gemini", Some(vec![model("gemini-x", Some(1_048_576), true)])),
            list("grok", None),
            list("openai-compat", Some(vec![model("a\u{1b}[31m", None, false)])),
        ];
        let expected = "adapter        model        window   reply
-------------  -----------  -------  -----
gemini         gemini-x *   1048576  -
openai-compat  a\\u{1b}[31m  -        -
";
        assert_eq!(text(&lists), expected);
        assert_eq!(text(&lists[1..2]), "");
    }
}

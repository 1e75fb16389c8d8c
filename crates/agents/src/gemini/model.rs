//! Facts that a model's name tells: its place in the API, and what it takes.

use crate::api::path_name;

/// Returns the model's path below the version of the API, such as `models/gemini-3.8-flash`. A name with a folder of
/// its own, such as `tunedModels/mine`, stays as it is; what a path can't have is encoded.
pub(super) fn resource(model: &str) -> String {
    let is_whole = ["models/", "tunedModels/"].iter().any(|folder| model.starts_with(folder));
    format!("{}{}", if is_whole { "" } else { "models/" }, path_name(model))
}

/// Returns true if thoughts may be asked for. Models before Gemini 2.5 and those of the Gemma family refuse such a
/// request.
pub(super) fn thinks(model: &str) -> bool {
    !is_of(model, &["gemini-1", "gemini-2.0", "gemma", "learnlm"])
}

/// Returns true if the model insists on a signature with the calls of a turn: all from Gemini 3 on do.
pub(super) fn insists_on_signatures(model: &str) -> bool {
    !is_of(model, &["gemini-1", "gemini-2", "gemma", "learnlm"])
}

/// Returns true if the model is of one of the families. A name that is not known is taken for a newer one.
fn is_of(model: &str, families: &[&str]) -> bool {
    let name = model.strip_prefix("models/").unwrap_or(model);
    families.iter().any(|family| name.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_its_place_whatever_its_name_has_in_it() {
        for (model, expected) in [
            ("gemini-3.8-flash", "models/gemini-3.8-flash"),
            ("models/gemini-3.8-flash", "models/gemini-3.8-flash"),
            ("tunedModels/mine", "tunedModels/mine"),
            ("a?key=b", "models/a%3Fkey%3Db"),
            ("größe x", "models/gr%C3%B6%C3%9Fe%20x"),
        ] {
            assert_eq!(resource(model), expected);
        }
    }

    #[test]
    fn families_differ_in_what_they_take() {
        for (model, expected) in [
            ("gemini-2.0-flash", (false, false)),
            ("gemini-2.5-pro", (true, false)),
            ("models/gemini-2.5-pro", (true, false)),
            ("gemini-3.8-flash", (true, true)),
            ("gemini-flash-latest", (true, true)),
            ("gemma-3-27b-it", (false, false)),
        ] {
            assert_eq!((thinks(model), insists_on_signatures(model)), expected, "{model}");
        }
    }
}

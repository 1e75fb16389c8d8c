//! Escapes untrusted text for a page: every value that a template prints goes through here, so that no value can be
//! forgotten.

use std::fmt::{self, Write};

use adjutant_core::words::visible::visible_text;
use askama::filters::{Escaper, Html};

/// Escapes for HTML what is first made visible: control characters, and those that turn the direction of writing
/// around, are spelled out; line feeds and tabs stay.
#[derive(Debug, Clone, Copy, Default)]
pub struct Visible;

impl Escaper for Visible {
    fn write_escaped_str<W: Write>(&self, dest: W, string: &str) -> fmt::Result {
        Html.write_escaped_str(dest, &visible_text(string))
    }
}

#[cfg(test)]
mod tests {
    use askama::Template;
    use proptest::prelude::*;

    #[derive(Template)]
    #[template(source = r#"<p title="{{ text }}">{{ text }}</p>"#, ext = "html")]
    struct TestPage<'a> {
        text: &'a str,
    }

    proptest! {
        #[test]
        fn no_text_leaves_its_place(text in any::<String>()) {
            let page = TestPage { text: &text }.render().expect("rendered");
            let inner = page.strip_prefix("<p title=\"").and_then(|rest| rest.strip_suffix("</p>")).expect("a page");
            let (title, body) = inner.split_once("\">").expect("a title");
            prop_assert_eq!(title, body);
            prop_assert!(!body.contains(['<', '>', '"', '\'']));
            prop_assert!(body.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()));
        }
    }

    #[test]
    fn what_turns_writing_around_is_spelled_out() {
        let page = TestPage { text: "a\u{202e}b\u{1b}[2J<script>" }.render().expect("rendered");
        assert!(page.contains("a\\u{202e}b\\u{1b}[2J&#60;script&#62;"), "{page}");
    }
}

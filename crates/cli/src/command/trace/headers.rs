//! Reads the headers that a collector wants beside the traces, such as a key. They come from the environment, where
//! OpenTelemetry's own exporters look for them.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

use crate::exit::Ending;
use crate::failure::Failure;

/// Variables that hold the headers; the first that is set wins. Names and format are those of the OpenTelemetry
/// specification for exporters of OTLP.
const VARIABLES: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];

/// Headers that are always sent; another value would make the request another one.
const OURS: &[&str] = &["content-type", "te"];

/// The headers that the environment asks for, by their names in lower case.
pub(super) fn from_environment() -> anyhow::Result<BTreeMap<String, String>> {
    for variable in VARIABLES {
        let Some(text) = std::env::var_os(variable).filter(|text| !text.is_empty()) else { continue };
        let read = text.to_str().ok_or_else(|| "it is not UTF-8".to_owned()).and_then(read);
        return read.map_err(|why| {
            Failure::ending(Ending::Usage, format!("`{variable}` can't be used: {why}"))
                .hint("headers are written `name=value`, with commas between them and `%2C` for a comma in a value")
                .into()
        });
    }
    Ok(BTreeMap::new())
}

/// Reads `name=value,name=value`. What is wrong is told by place and name, never by value: that may be a key.
fn read(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut headers = BTreeMap::new();
    for (number, entry) in (1..).zip(text.split(',')).filter(|(_, entry)| !entry.trim().is_empty()) {
        let (name, value) = entry.split_once('=').ok_or_else(|| format!("entry {number} has no `=`"))?;
        let name = name.trim().to_ascii_lowercase();
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || !name.chars().all(is_token) {
            return Err(format!("entry {number} has no name that a header can have"));
        }
        if OURS.contains(&name.as_str()) || name.starts_with("grpc-") {
            return Err(format!("`{name}` is not yours to set"));
        }
        let value = percent_decode_str(value.trim()).decode_utf8().map_err(|_| format!("`{name}` is not UTF-8"))?;
        if !value.chars().all(|c| matches!(c, ' '..='~')) {
            return Err(format!("`{name}` has a value that no header can have"));
        }
        headers.insert(name, value.into_owned());
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_the_specification_writes_them() {
        let read = |text| read(text).map(|headers| headers.into_iter().collect::<Vec<_>>());
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            read("Authorization=Bearer%20abc=, x-team = a%2Cb ,,"),
            Ok(vec![pair("authorization", "Bearer abc="), pair("x-team", "a,b")])
        );
        assert_eq!(read(" "), Ok(Vec::new()));
    }

    #[test]
    fn what_is_wrong_is_told_without_its_value() {
        for (text, why) in [
            ("a=1,sesame", "entry 2 has no `=`"),
            ("=sesame", "entry 1 has no name"),
            ("a b=sesame", "entry 1 has no name"),
            ("a=sesame%0D%0Ab: c", "`a` has a value"),
            ("a=%ff", "`a` is not UTF-8"),
            ("Content-Type=sesame", "`content-type` is not yours"),
            ("grpc-timeout=sesame", "`grpc-timeout` is not yours"),
        ] {
            let said = read(text).expect_err(text);
            assert!(said.contains(why) && !said.contains("sesame"), "{text}: {said}");
        }
    }
}

//! The adapters, and whether they are ready.

use serde::Serialize;

use super::columns::table_of;
use crate::words::price::{Prices, price_text};

/// One adapter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdapterRow {
    /// The word for it in a brief.
    pub id: String,
    /// Its name for a person.
    pub name: String,
    /// True if it could take a turn, as far as that can be told without asking its API.
    pub ready: bool,
    /// The thing that it lacks; absent if it is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// Source of its key; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_from: Option<String>,
    /// The model that it would use; absent if it has no fixed one.
    pub model: Option<String>,
    /// `free` or `paid`.
    pub tier: String,
    /// Number of tokens that the model takes in; absent if unknown.
    pub window: Option<u64>,
    /// The prices that are known, in dollars for a million tokens.
    pub prices: DollarPrices,
    /// The day of the provider's list that the prices are from; absent if they are the operator's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices_listed: Option<String>,
    /// The most tokens of one reply; absent if it has no model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens_max: Option<u32>,
    /// Address of its API; absent if it has none.
    pub base_url: Option<String>,
    /// True if that is another address than the adapter's own.
    pub has_other_base_url: bool,
}

/// Prices in dollars for a million tokens. What is unknown is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct DollarPrices {
    /// Input that is not from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<f64>,
    /// Input read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Input written to a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<f64>,
    #[serde(skip)]
    exact: Prices,
}

impl From<Prices> for DollarPrices {
    fn from(exact: Prices) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53, and read as decimals again")]
        let dollars = |price: Option<u64>| price.map(|price| price as f64 / 1000.0);
        Self {
            input: dollars(exact.input),
            cache_read: dollars(exact.cache_read),
            cache_write: dollars(exact.cache_write),
            output: dollars(exact.output),
            exact,
        }
    }
}

/// Their table. Columns in which no adapter has anything are left out.
#[must_use]
pub fn text(rows: &[AdapterRow]) -> String {
    let has_prices = rows.iter().any(|row| !row.prices.exact.is_empty());
    let has_base_url = rows.iter().any(|row| row.has_other_base_url);
    let mut head = vec!["id", "name", "ready", "model", "tier", "window"];
    if has_prices {
        head.push("dollars per million tokens");
    }
    if has_base_url {
        head.push("base_url");
    }
    let cells = |row: &AdapterRow| {
        let ready = row.why_not.clone().unwrap_or_else(|| if row.ready { "yes" } else { "no" }.to_owned());
        let window = match (row.window, &row.base_url) {
            (Some(window), _) => window.to_string(),
            (None, Some(_)) => "unknown".to_owned(),
            (None, None) => "-".to_owned(),
        };
        let model = row.model.clone().unwrap_or_else(|| "-".to_owned());
        let mut cells = vec![row.id.clone(), row.name.clone(), ready, model, row.tier.clone(), window];
        if has_prices {
            let list = if row.prices_listed.is_some() { "~ " } else { "" };
            cells.push(list.to_owned() + &prices(&row.prices.exact));
        }
        if has_base_url {
            let other = row.base_url.as_deref().filter(|_| row.has_other_base_url);
            cells.push(other.unwrap_or("-").to_owned());
        }
        cells
    };
    let mut text = table_of(&head, &rows.iter().map(cells).collect::<Vec<_>>());
    if let Some(day) = rows.iter().filter_map(|row| row.prices_listed.as_deref()).max() {
        text +=
            &format!("\n~ list prices of {day} that come with this version: what is counted by them is an estimate\n");
    }
    text
}

fn prices(prices: &Prices) -> String {
    let known = [
        ("input", prices.input),
        ("cache read", prices.cache_read),
        ("cache write", prices.cache_write),
        ("output", prices.output),
    ];
    let known: Vec<String> =
        known.iter().filter_map(|(name, price)| Some(format!("{name} {}", price_text((*price)?)))).collect();
    if known.is_empty() { "-".to_owned() } else { known.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str) -> AdapterRow {
        AdapterRow {
            id: id.into(),
            name: "A name".into(),
            ready: true,
            why_not: None,
            key_from: None,
            model: None,
            tier: "free".into(),
            window: None,
            prices: DollarPrices::default(),
            prices_listed: None,
            output_tokens_max: None,
            base_url: None,
            has_other_base_url: false,
        }
    }

    fn paid() -> AdapterRow {
        AdapterRow {
            ready: false,
            why_not: Some("A_KEY or B_KEY is not set".into()),
            model: Some("a-model\u{1b}[2J".into()),
            tier: "paid".into(),
            base_url: Some("https://api.example.com".into()),
            ..row("paid")
        }
    }

    #[test]
    fn columns_without_anything_are_left_out() {
        assert_eq!(
            text(&[row("free"), paid()]),
            "id    name    ready                      model             tier  window\n\
             ----  ------  -------------------------  ----------------  ----  -------\n\
             free  A name  yes                        -                 free  -\n\
             paid  A name  A_KEY or B_KEY is not set  a-model\\u{1b}[2J  paid  unknown\n"
        );
    }

    #[test]
    fn prices_and_another_address_are_shown_where_there_are_any() {
        let prices = Prices { input: Some(3000), output: Some(15_500), ..Prices::default() };
        let local = AdapterRow {
            window: Some(8192),
            prices: prices.into(),
            base_url: Some("http://127.0.0.1:1/v1".into()),
            has_other_base_url: true,
            ..row("local")
        };
        let text = text(&[row("free"), local.clone()]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with("window  dollars per million tokens  base_url"), "{text}");
        assert!(lines[2].ends_with("-       -                           -"), "{text}");
        assert!(lines[3].ends_with("8192    input 3, output 15.5        http://127.0.0.1:1/v1"), "{text}");
        let json = serde_json::to_value(&local).expect("JSON");
        assert_eq!(json["prices"], serde_json::json!({ "input": 3.0, "output": 15.5 }));
    }
}

//! The pages: one file for each, with what its template is given.
//!
//! A page is made of `core`'s views; a template prints and computes nothing. To add one: a file here, a template, a
//! route, its place in [`PAGES`], and its key in `script.js`.

pub(super) mod history;
pub(super) mod inbox;
pub(super) mod memory;
pub(super) mod past;
mod peer;
pub(super) mod profile;
pub(super) mod run;
pub(super) mod runs;

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{Html, IntoResponse};
use jiff::Timestamp;

use super::Hall;
use super::fault::RequestFault;

/// The pages that every page leads to: path and name.
const PAGES: &[(&str, &str)] =
    &[("runs", "Runs"), ("inbox", "Inbox"), ("memory", "Memory"), ("history", "History"), ("profile", "Profile")];

/// The parts around every page.
pub(super) struct PageShell {
    pub(super) base: String,
    csrf: String,
    here: &'static str,
    pages: &'static [(&'static str, &'static str)],
}

impl PageShell {
    /// Around the page that is reached by the path `here`.
    fn around(hall: &Hall, here: &'static str) -> Self {
        Self { base: hall.base.clone(), csrf: hall.door.csrf().to_owned(), here, pages: PAGES }
    }
}

/// Leads to the first page.
pub(super) async fn front(State(hall): State<Arc<Hall>>) -> impl IntoResponse {
    (StatusCode::SEE_OTHER, [(LOCATION, format!("{}/runs", hall.base))])
}

fn render(page: &impl Template) -> Result<Html<String>, RequestFault> {
    page.render().map(Html).map_err(|error| RequestFault::failed(format!("This page can't be made: {error}")))
}

/// A time as a person reads it: to the second, in UTC. What is no time is shown as it is.
fn clock(at: &str) -> String {
    match at.parse::<Timestamp>() {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => at.to_owned(),
    }
}

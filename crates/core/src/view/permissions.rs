//! The permissions that an agent asked for, and what became of them.
//!
//! The peer gives a request and its grant different ids, so that its traces show two rows for one; which
//! belongs to which can't be known from the trace, and is not guessed. Ours have one id.

use indexmap::IndexMap;
use serde::Serialize;

use super::columns::table;
use super::damage;
use crate::trace::EventKind;
use crate::trace::read::Trace;
use crate::words::text::{cut, head};

/// An action in the table, in UTF-16 units (the peer's number).
const ACTION_UNITS_MAX: usize = 50;
/// The length of an id in the table, in UTF-16 units (the peer's number).
const ID_UNITS: usize = 8;

/// The permissions of a run, in the order in which they were first seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Permissions {
    /// The lines that can't be read.
    pub damaged: Vec<u64>,
    /// One row per id.
    pub permissions: Vec<Permission>,
}

/// One permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Permission {
    /// The id of the request or of the grant.
    pub grant_id: String,
    /// Its status.
    pub status: PermissionStatus,
    /// Its reach: the one that was granted, or else the one that was asked for.
    pub scope: Option<String>,
    /// The category of what was asked for.
    pub category: Option<String>,
    /// The action that was asked for; absent if the trace has no request of this id.
    pub action: Option<String>,
    /// Time of the event that gave it this status.
    pub at: Option<String>,
}

/// The status of a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionStatus {
    /// It was asked for.
    Requested,
    /// The operator said yes.
    Granted,
    /// The operator said no.
    Denied,
    /// It was good for one call, which was made.
    Consumed,
    /// The operator took it back.
    Revoked,
}

impl PermissionStatus {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Granted => "granted",
            Self::Denied => "denied",
            Self::Consumed => "consumed",
            Self::Revoked => "revoked",
        }
    }
}

/// The permissions in `trace`.
#[must_use]
pub fn of(trace: &Trace<'_>) -> Permissions {
    let mut rows: IndexMap<String, Permission> = IndexMap::new();
    for line in &trace.lines {
        let fields = &line.fields;
        let owned = |name: &str| fields.text(name).map(std::borrow::Cow::into_owned);
        let (status, at) = match line.kind.known() {
            Some(EventKind::PermissionRequested) => (PermissionStatus::Requested, "at"),
            Some(EventKind::PermissionGranted) => (PermissionStatus::Granted, "at"),
            Some(EventKind::PermissionDenied) => (PermissionStatus::Denied, "at"),
            Some(EventKind::PermissionGrantConsumed) => (PermissionStatus::Consumed, "at"),
            Some(EventKind::PermissionRevoked) => (PermissionStatus::Revoked, "revoked_at"),
            _ => continue,
        };
        let grant_id = fields.word("grant_id").into_owned();
        let row = rows.entry(grant_id.clone()).or_insert_with(|| Permission {
            grant_id,
            status,
            scope: None,
            category: None,
            action: None,
            at: None,
        });
        // Ours says which call used it, and one that is good for more than one call is not over with a use.
        let goes_on = status == PermissionStatus::Consumed
            && fields.json("call").is_some()
            && row.scope.as_deref() != Some("this_call");
        if goes_on {
            row.status = PermissionStatus::Granted;
            continue;
        }
        row.status = status;
        row.at = owned(at);
        match status {
            PermissionStatus::Requested => {
                row.scope = owned("scope_requested");
                row.category = owned("category");
                row.action = owned("action");
            }
            PermissionStatus::Granted => row.scope = owned("scope_granted"),
            PermissionStatus::Denied | PermissionStatus::Consumed | PermissionStatus::Revoked => {}
        }
    }
    Permissions { damaged: trace.damaged.clone(), permissions: rows.into_values().collect() }
}

/// Its text.
#[must_use]
pub fn text(permissions: &Permissions) -> String {
    let mut text = damage::announced(&permissions.damaged);
    if permissions.permissions.is_empty() {
        return text + "no permission was asked for\n";
    }
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let rows: Vec<_> = (permissions.permissions.iter())
        .map(|row| {
            [
                head(&row.grant_id, ID_UNITS).to_owned(),
                row.status.as_str().to_owned(),
                or_dash(&row.scope),
                or_dash(&row.category),
                cut(row.action.as_deref().unwrap_or("(no preceding request event)"), ACTION_UNITS_MAX),
                row.at.clone().unwrap_or_default(),
            ]
        })
        .collect();
    text += &table(["grant_id", "status", "scope", "category", "action", "at"], &rows);
    text
}

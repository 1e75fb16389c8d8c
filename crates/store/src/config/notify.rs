//! How an operator is told that something waits: the table `[notify]`. The operator's own word only, never a
//! project's: it runs a program and sends something to somebody.

use adjutant_core::inbox::QuestionKind;
use adjutant_core::inbox::hours::{self, Hours};
use adjutant_core::inbox::notice::{Format, Quiet};
use jiff::civil::Time;
use jiff::tz::TimeZone;

use super::keys::Key;
use super::{ConfigError, Setting, Whose};

/// The keys of notices.
pub const NOTIFY_KEYS: &[&str] = &["command", "webhook", "format", "quiet"];

/// The keys of quiet hours.
const QUIET_KEYS: &[&str] = &["from", "to", "zone", "critical"];

/// How an operator is told. Everything may be absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NotifyConfig {
    /// A program that gets a title and a text as its last two arguments.
    pub command: Option<Setting<Vec<String>>>,
    /// Where a notice is sent.
    pub webhook: Option<Setting<String>>,
    /// In which form.
    pub format: Option<Setting<Format>>,
    /// When only what is critical is told.
    pub quiet: Option<Setting<QuietHours>>,
}

/// Quiet hours, and where the wall is that their clock hangs on.
#[derive(Debug, Clone, PartialEq)]
pub struct QuietHours {
    /// When.
    pub quiet: Quiet,
    /// Where.
    pub zone: TimeZone,
}

/// The table of notices, from the key `notify`.
pub(super) fn read(notify: &Key<'_, '_>) -> Result<NotifyConfig, ConfigError> {
    let file = notify.file;
    if file.whose == Whose::Projects {
        return Err(ConfigError::NotOfAProject {
            at: file.origin(&notify.value.span()),
            key: notify.name.to_owned(),
            what: "what is run and sent when something waits",
        });
    }
    let table = notify.value.get_ref().as_table().ok_or_else(|| notify.bad("a table"))?;
    let mut config = NotifyConfig::default();
    for (name, value) in table {
        let full = format!("notify.{}", name.get_ref());
        let key = Key { file, name: &full, value };
        match name.get_ref().as_ref() {
            "command" => {
                let expected = "a list: the program, then its first arguments";
                let command = key.texts(expected)?;
                if command.value.is_empty() {
                    return Err(key.bad(expected));
                }
                config.command = Some(command);
            }
            "webhook" => config.webhook = Some(key.text("the address of a webhook")?),
            "format" => {
                let expected = "`generic`, `slack` or `teams`";
                let Setting { value, from } = key.text(expected)?;
                let value = Format::named(&value).ok_or_else(|| key.bad(expected))?;
                config.format = Some(Setting { value, from });
            }
            "quiet" => config.quiet = Some(quiet(&key)?),
            other => return Err(file.unknown(&name.span(), other, full.clone(), NOTIFY_KEYS.to_vec())),
        }
    }
    Ok(config)
}

fn quiet(key: &Key<'_, '_>) -> Result<Setting<QuietHours>, ConfigError> {
    let file = key.file;
    let table = key.value.get_ref().as_table().ok_or_else(|| key.bad("a table with `from`, `to` and `zone`"))?;
    let (mut from, mut to, mut zone, mut critical) = (None, None, None, Vec::new());
    for (name, value) in table {
        let full = format!("notify.quiet.{}", name.get_ref());
        let key = Key { file, name: &full, value };
        match name.get_ref().as_ref() {
            "from" => from = Some(time(&key)?),
            "to" => to = Some(time(&key)?),
            "zone" => {
                let expected = "a time zone that this machine knows, such as \"Europe/Berlin\"";
                let name = key.text(expected)?.value;
                zone = Some(TimeZone::get(&name).map_err(|_unknown| key.bad(expected))?);
            }
            "critical" => {
                let expected = "a list of kinds of questions, such as `destructive`";
                let kinds = key.texts(expected)?.value.into_iter();
                let kinds = kinds.map(|kind| QuestionKind::named(&kind).ok_or_else(|| key.bad(expected)));
                critical = kinds.collect::<Result<_, _>>()?;
            }
            other => return Err(file.unknown(&name.span(), other, full.clone(), QUIET_KEYS.to_vec())),
        }
    }
    let (Some(from), Some(to), Some(zone)) = (from, to, zone) else {
        return Err(key.bad("a table with `from`, `to` and `zone`"));
    };
    if from == to {
        return Err(key.bad("a table whose `from` and `to` differ"));
    }
    let value = QuietHours { quiet: Quiet { hours: Hours { from, to }, critical }, zone };
    Ok(Setting { value, from: file.origin(&key.value.span()) })
}

fn time(key: &Key<'_, '_>) -> Result<Time, ConfigError> {
    let expected = "a time of day such as \"22:00\"";
    let text = key.text(expected)?.value;
    hours::time(&text).ok_or_else(|| key.bad(expected))
}

//! The settings of notices to the operator: the table `[notify]`. Taken from the operator's own configuration only,
//! never from a project's: it runs a program and sends data to an address.

use adjutant_core::inbox::hours::{self, Hours};
use adjutant_core::inbox::notice::{Format, Quiet};
use adjutant_core::words::QuestionKind;
use jiff::civil::Time;
use jiff::tz::TimeZone;

use super::keys::ConfigKey;
use super::{ConfigError, ConfigOwner, Setting};

/// The keys of notices.
pub const NOTIFY_KEYS: &[&str] = &["command", "webhook", "format", "quiet"];

/// The keys of quiet hours.
const QUIET_KEYS: &[&str] = &["from", "to", "zone", "critical"];

/// The settings of notices. All are optional.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NotifyConfig {
    /// A program that gets a title and a text as its last two arguments.
    pub command: Option<Setting<Vec<String>>>,
    /// Address that a notice is sent to.
    pub webhook: Option<Setting<String>>,
    /// In which form.
    pub format: Option<Setting<Format>>,
    /// Hours in which only critical questions cause a notice.
    pub quiet: Option<Setting<QuietHours>>,
}

/// Quiet hours, and where the wall is that their clock hangs on.
#[derive(Debug, Clone, PartialEq)]
pub struct QuietHours {
    /// The hours, and the kinds of questions that are critical.
    pub quiet: Quiet,
    /// The time zone of the hours.
    pub zone: TimeZone,
}

/// The table of notices, from the key `notify`.
pub(super) fn read(notify: &ConfigKey<'_, '_>) -> Result<NotifyConfig, ConfigError> {
    let file = notify.file;
    if file.whose == ConfigOwner::Projects {
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
        let key = ConfigKey { file, name: &full, value };
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

fn quiet(key: &ConfigKey<'_, '_>) -> Result<Setting<QuietHours>, ConfigError> {
    let file = key.file;
    let table = key.value.get_ref().as_table().ok_or_else(|| key.bad("a table with `from`, `to` and `zone`"))?;
    let (mut from, mut to, mut zone, mut critical) = (None, None, None, Vec::new());
    for (name, value) in table {
        let full = format!("notify.quiet.{}", name.get_ref());
        let key = ConfigKey { file, name: &full, value };
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

fn time(key: &ConfigKey<'_, '_>) -> Result<Time, ConfigError> {
    let expected = "a time of day such as \"22:00\"";
    let text = key.text(expected)?.value;
    hours::time(&text).ok_or_else(|| key.bad(expected))
}

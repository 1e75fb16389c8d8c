//! `curl`, `wget`: a fetch, unless anything is sent that the line doesn't show.

use super::ProgramCall;
use crate::gate::effect::{Act, UNKNOWN, Verdict};
use crate::gate::shell::args::{ArgValue, is_short_for};
use crate::gate::shell::expand::ShellWord;
use crate::gate::shell::option_variables::{PROXIES, after_scheme, is_this_machine};
use crate::gate::shell::paths::PathChange;
use crate::gate::shell::program::{host, word_of};
use crate::gate::shell::walk::ShellWalk;
use crate::words::category::{EXTERNAL_MESSAGE, HTTP_FETCH};

/// Options of curl that send a body, or what a file holds.
const CURL_SENDS: [&str; 17] = [
    "-d", "--data", "--data-ascii", "--data-binary", "--data-raw", "--data-urlencode", "--json", "-F", "--form",
    "--form-string", "-T", "--upload-file", "--mail-from", "--mail-rcpt", "-Q", "--quote", "--mail-auth",
];

/// Options of wget that do.
const WGET_SENDS: [&str; 4] = ["--post-data", "--post-file", "--body-data", "--body-file"];

/// Options of curl that add data to the address.
const QUERY: [&str; 8] =
    ["-d", "--data", "--data-ascii", "--data-binary", "--data-raw", "--data-urlencode", "--url-query", "--json"];

/// Options whose value stays here: files to write, numbers, what is shown.
const STAYS: [&str; 38] = [
    "-o", "--output", "--output-dir", "-D", "--dump-header", "--trace", "--trace-ascii", "--stderr", "--etag-save",
    "--libcurl", "-m", "--max-time", "--connect-timeout", "-w", "--write-out", "--retry", "--retry-delay",
    "--retry-max-time", "--limit-rate", "--max-redirs", "--cacert", "--capath", "--ciphers", "--tls-max",
    "--max-filesize", "-c", "--cookie-jar", "-Y", "-y", "-O", "--output-document", "--output-file", "-P",
    "--directory-prefix", "--timeout", "--tries", "--wait", "--parallel-max",
];

/// Options by which a request goes elsewhere than its address says.
const DETOURS: [&str; 16] = [
    "-x", "--proxy", "--preproxy", "--socks4", "--socks4a", "--socks5", "--socks5-hostname", "--resolve",
    "--connect-to", "--unix-socket", "--abstract-unix-socket", "--dns-servers", "--doh-url", "--proxy1.0",
    "--interface", "--alt-svc",
];

impl ShellWalk<'_> {
    /// `curl`, `wget`.
    pub(super) fn http(&mut self, call: ProgramCall<'_>) {
        let args = call.args;
        let is_curl = call.name == "curl";
        let mut addresses: Vec<ShellWord> = args.values(&["--url"]).map(word_of).collect();
        addresses.extend(args.operands.iter().map(|word| (*word).clone()));
        let goes_by = |option: &str| args.options.iter().any(|(given, _)| given == option);
        let is_detour = DETOURS.iter().any(|option| goes_by(option))
            || PROXIES.iter().any(|proxy| self.is_set_or_given(proxy))
            // Where a redirection leads is the other side's to say.
            || ["-L", "--location", "--location-trusted"].iter().any(|option| goes_by(option));
        let stays_here = !is_detour && !addresses.is_empty() && addresses.iter().all(is_here);
        let sends_unknown = sends_what_is_not_shown(call);
        // `-w '%output{file}'` writes there.
        if args.values(&["-w", "--write-out"]).any(|value| value.text().is_none_or(|text| text.contains("%output{"))) {
            self.change(&ShellWord::unknown_operand(), PathChange::Replace, None);
        }
        let (mut sends, deletes) = method(call);
        // Each line of a list of addresses goes to whoever it names.
        sends |= if is_curl { sends_body(call) } else { args.any(&WGET_SENDS) || args.any(&["-i", "--input-file"]) };
        let (verdict, category, reason) = if stays_here && !sends && !deletes {
            return self.unsure(call);
        } else if stays_here {
            (Verdict::Ask, HTTP_FETCH, "changes something in a service of this machine")
        } else if sends || sends_unknown {
            (Verdict::External, EXTERNAL_MESSAGE, "sends something to the outside")
        } else {
            (Verdict::Ask, HTTP_FETCH, "fetches from the network")
        };
        let mut hosts: Vec<String> = addresses.iter().filter_map(host).collect();
        if hosts.is_empty() {
            hosts.push(UNKNOWN.to_owned());
        }
        for host in hosts {
            self.effect(verdict, category, Act::Contact { host }, None, reason);
        }
        if deletes {
            self.effect(Verdict::Destructive, EXTERNAL_MESSAGE, Act::Other, None, "asks a server to delete something");
        }
        self.unsure(call);
    }

    fn unsure(&mut self, call: ProgramCall<'_>) {
        if call.args.is_unsure {
            self.opaque("", "its options can't be known");
        }
    }
}

/// True if an address is of this machine, as far as its host is known for certain.
fn is_here(address: &ShellWord) -> bool {
    let text = address.text();
    let rest = after_scheme(text);
    // `@f` is the host `f`, with a user of no name.
    (address.known().is_some() || rest.contains('/')) && !rest.starts_with('@') && is_this_machine(text)
}

/// Says whether the method does more than read, and whether it deletes.
fn method(call: ProgramCall<'_>) -> (bool, bool) {
    let (mut sends, mut deletes) = (false, false);
    let options: &[&str] = if call.name == "curl" { &["-X", "--request"] } else { &["--method"] };
    for method in call.args.values(options) {
        match method.text() {
            Some(text) => {
                sends |= !["GET", "HEAD", "OPTIONS"].iter().any(|reading| text.eq_ignore_ascii_case(reading));
                deletes |= text.eq_ignore_ascii_case("DELETE");
            }
            None => sends = true,
        }
    }
    (sends, deletes)
}

/// True if curl sends a body. With `-G` the data goes into the address.
fn sends_body(call: ProgramCall<'_>) -> bool {
    let given = |name: &str| call.args.options.iter().any(|(given, _)| is_short_for(given, name));
    let has = |name: &str| call.args.options.iter().any(|(given, _)| given == name);
    let is_query = has("-G") || has("--get");
    CURL_SENDS.iter().any(|option| given(option) && !(is_query && QUERY.contains(option)))
}

/// True if anything is sent that the line doesn't show: the output of a substitution, the contents of a variable or a
/// file.
fn sends_what_is_not_shown(call: ProgramCall<'_>) -> bool {
    let args = call.args;
    let is_hidden = |option: &str, value: Option<ArgValue<'_>>| {
        let Some(value) = value.filter(|_| !STAYS.contains(&option)) else { return false };
        let Some(text) = value.text() else { return true };
        match option {
            "-H" | "--header" | "--proxy-header" => text.starts_with('@'),
            // `-b name=value` is a cookie, `-b file` a file of them.
            "-b" | "--cookie" if call.name == "curl" => !text.contains('=') && !text.is_empty(),
            "--load-cookies" => true,
            _ if option.starts_with("--variable") || option.starts_with("--expand") => true,
            _ if QUERY.contains(&option) => {
                text.starts_with('@') || (matches!(option, "--data-urlencode" | "--url-query") && holds_file(text))
            }
            "--url" => text.starts_with('@'),
            _ => false,
        }
    };
    args.options.iter().any(|(option, value)| is_hidden(option, *value))
        || args.operands.iter().any(|word| word.known().is_none())
}

/// `name@file`: what stands before the sign is a name.
fn holds_file(text: &str) -> bool {
    let name = text.split(['@', '=']).next().unwrap_or_default();
    text[name.len()..].starts_with('@')
}

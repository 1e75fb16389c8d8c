use proptest::prelude::*;
use serde_json::json;

use super::base64::{decoded, encoded};
use super::*;

/// Letters and digits that look random and are the same every time.
fn random(length: usize) -> String {
    let mut state: u32 = 7;
    let mut next = || {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        char::from(DIGITS[(state >> 16) as usize % DIGITS.len()])
    };
    (0..length).map(|_| next()).collect()
}

fn base64(text: &str) -> String {
    let padding = [0, 2, 1][text.len() % 3];
    let padded = format!("{text}{}", "\0".repeat(padding));
    let mut encoded = encoded(padded.as_bytes(), 0).remove(0);
    encoded.truncate(encoded.len() - padding);
    encoded + &"=".repeat(padding)
}

#[track_caller]
fn check(text: &str, masked: &str) {
    assert_eq!(mask(text), masked, "{text:?}");
    assert_eq!(mask(masked), masked, "masked once more: {masked:?}");
}

#[test]
fn keys_of_providers_are_masked_where_they_stand() {
    for (prefix, length, kind) in [
        ("sk-", 48, "openai_key"),
        ("sk-proj-", 60, "openai_key"),
        ("sk-ant-api03-", 60, "anthropic_key"),
        ("ghp_", 36, "github_token"),
        ("gho_", 36, "github_token"),
        ("github_pat_", 60, "github_token"),
        ("xoxb-", 40, "slack_token"),
        ("AIza", 35, "google_key"),
        ("glpat-", 20, "gitlab_token"),
        ("npm_", 36, "npm_token"),
        ("hf_", 34, "huggingface_token"),
        ("sk_live_", 24, "stripe_key"),
    ] {
        let key = format!("{prefix}{}", random(length));
        check(&format!("it is {key}."), &format!("it is [masked:{kind}]."));
        check(&format!("\"{key}\",é"), &format!("\"[masked:{kind}]\",é"));
        check(&format!("https://x.y/a/{key}/b"), &format!("https://x.y/a/[masked:{kind}]/b"));
        check(&format!("v{key}"), &format!("v{key}"));
        let encoded = base64(&format!("user:{key}"));
        let bare = encoded.trim_end_matches('=');
        let padding = &encoded[bare.len()..];
        check(&format!("data {encoded}"), &format!("data [masked:{kind}]{padding}"));
    }
}

#[test]
fn an_aws_pair_is_masked_as_two() {
    let id = "AKIA".to_owned() + "IOSFODNN7EXAMPLE";
    check(&format!("{id} {}", random(40)), "[masked:aws_key_id] [masked:aws_secret_key]");
    let hash = "0123456789abcdef0123456789abcdef01234567";
    check(&format!("{id} {hash}"), &format!("[masked:aws_key_id] {hash}"));
    let lonely = random(40);
    check(&format!("blob {lonely}"), &format!("blob {lonely}"));
}

#[test]
fn a_jwt_is_masked_whole() {
    let jwt = format!("eyJ{}.eyJ{}.{}", random(20), random(40), random(43));
    check(&format!("cookie={jwt}; x"), "cookie=[masked:jwt]; x");
}

#[test]
fn authorization_headers_keep_their_scheme() {
    let token = random(24);
    check(&format!("Authorization: Bearer {token}"), "Authorization: Bearer [masked:authorization]");
    check(&format!("-H 'authorization: basic {token}=='"), "-H 'authorization: basic [masked:authorization]=='");
    check("the bearer authentication-scheme-of-http", "the bearer authentication-scheme-of-http");
}

#[test]
fn assigned_values_are_masked_if_they_look_random() {
    let value = random(24);
    for before in
        ["password=", "DB_PASSWORD=", "\"api_key\": \"", "secret: ", "client-secret := '", "access_token=>", "?token="]
    {
        check(&format!("{before}{value}"), &format!("{before}[masked:assigned_secret]"));
    }
    for text in [
        "token = some_function_name_here",
        "max_tokens: 12345678901234567890",
        "password: correct-horse-battery-staple",
        "secret: vault/production/database/main",
        "path = target1/Debug2/deps3/adjutant4core",
        "token: $SERVICE_TOKEN_FROM_ENVIRONMENT",
    ] {
        check(text, text);
    }
}

#[test]
fn a_password_in_a_url_is_masked() {
    let text = "postgres://user:s3cr3t-pass@db.example.org/main";
    check(text, "postgres://user:[masked:url_password]@db.example.org/main");
    check("https://example.org:8080/a@b/cccccccccc", "https://example.org:8080/a@b/cccccccccc");
}

fn pem(separator: &str) -> (String, String) {
    let lines: Vec<String> = [64, 64, 64, 22].map(random).to_vec();
    let (header, footer) =
        (format!("-----BEGIN RSA {} KEY-----", "PRIVATE"), format!("-----END RSA {} KEY-----", "PRIVATE"));
    let whole = format!("a {header}{separator}{}=={separator}{footer} b", lines.join(separator));
    let masked = format!("a {header}{separator}[masked:private_key]=={separator}{footer} b");
    (whole, masked)
}

#[test]
fn the_body_of_a_private_key_is_masked_in_any_layout() {
    for separator in ["\n", "\r\n", "\n    ", "\\n"] {
        let (whole, masked) = pem(separator);
        assert_eq!(mask(&whole), masked);
    }
    let (whole, _) = pem("");
    assert!(!mask(&whole).contains(&random(64)));
    let encrypted = pem("\n").0.replacen(
        '\n',
        "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF\n\n",
        1,
    );
    assert!(!mask(&encrypted).contains(&random(64)));
    let talk = "Begin with -----BEGIN PRIVATE KEY----- and the base64 lines follow.";
    check(talk, talk);
    let certificate = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----", random(64));
    check(&certificate, &certificate);
    let in_base64 = base64(&whole_pem());
    assert!(mask(&in_base64).starts_with("[masked:private_key]"));
}

fn whole_pem() -> String {
    pem("\n").0.trim_start_matches("a ").to_owned()
}

#[test]
fn ordinary_text_is_left_alone_and_borrowed() {
    for text in [
        "",
        "The quick brown fox jumps over the lazy dog. sk-1 ghp_short AKIA",
        "crates/core/src/session/detect/destructive_rules.rs:120: let destructive_rules = DestructiveRules::new();",
        "a sk-spinner-with-a-very-long-class-name b",
        "commit 3a798d4c0ffee3a798d4c0ffee3a798d4c0ffee3a",
        "e5b7a0d2-1c7a-4d5e-9b1a-3f5c2d1e0f9a",
    ] {
        assert!(matches!(mask(text), Cow::Borrowed(_)), "{text}");
    }
}

#[test]
fn known_values_are_masked_plain_and_encoded() {
    let known: SecretSet = ["hunter2 hunter2", "hunter2 hunter2 and more", "short"].into_iter().collect();
    assert_eq!(known.mask("is hunter2 hunter2 and mor"), "is [masked:known_value] and mor");
    assert_eq!(known.mask("is hunter2 hunter2 and more short"), "is [masked:known_value] short");
    for before in ["", "a", "ab"] {
        let masked = known.mask(&base64(&format!("{before}hunter2 hunter2 tail"))).into_owned();
        assert!(masked.contains("[masked:known_value]"), "{masked}");
        assert!(!decoded(masked.as_bytes()).contains("hunter2"));
    }
    assert!(matches!(known.mask("nothing here"), Cow::Borrowed(_)));
    assert!(!format!("{known:?}").contains("hunter"));
    let long = random(3 * 4096 + 5);
    let known: SecretSet = [&long].into_iter().collect();
    assert!(!known.mask(&format!("x {long} y")).contains(&long[long.len() - 16..]));
}

#[test]
fn every_string_of_a_json_value_is_masked() {
    let (key, value) = (format!("ghp_{}", random(36)), random(20));
    let given = json!({"a": [1, key, {"b": format!("x {key}")}], "password": value, "n": null, "kept": value});
    let (masked, changed) = mask_value(&given);
    let token = "[masked:github_token]";
    let expected = json!({
        "a": [1, token, {"b": format!("x {token}")}], "password": "[masked:assigned_secret]", "n": null, "kept": value,
    });
    assert_eq!(masked, expected);
    assert!(changed);
    let plain = json!({"a": ["b", 1, true]});
    assert_eq!(mask_value(&plain), (plain.clone(), false));
    let (masked, changed) = mask_value(&json!({ key: 1 }));
    assert_eq!((masked, changed), (json!({ token: 1 }), true));
}

#[test]
fn what_is_held_back_is_bounded() {
    let mut masker = Masker::default();
    let blob = random(1000);
    let mut given = 0;
    for pieces in 1..200 {
        given += masker.push(&blob).len();
        assert!(pieces * 1000 - given <= 18_000, "{} bytes held", pieces * 1000 - given);
    }
    let mut masker = Masker::default();
    assert_eq!(masker.push("a word, then "), "a word, then ");
}

/// Letters and digits of an alphabet that look random, others for each seed.
fn random_of(alphabet: &str, length: usize, seed: u32) -> String {
    let alphabet = alphabet.as_bytes();
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(97);
    let mut next = || {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        char::from(alphabet[(state >> 16) as usize % alphabet.len()])
    };
    (0..length).map(|_| next()).collect()
}

const ALL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";

/// One key of each family. They are put together here, so that nobody takes this file for a leak.
fn keys() -> Vec<String> {
    let rows: &[(&[&str], &str, usize)] = &[
        (&["sk-", "ant-", "api03-"], ALL, 90),
        (&["sk-", "proj-"], ALL, 60),
        (&["sk-", "or-", "v1-"], HEX, 64),
        (&["gs", "k_"], ALL, 52),
        (&["pp", "lx-"], ALL, 48),
        (&["xa", "i-"], ALL, 80),
        (&["f", "w_"], ALL, 24),
        (&["r", "8_"], ALL, 37),
        (&["h", "f_"], ALL, 34),
        (&["nv", "api-"], ALL, 64),
        (&["gh", "p_"], ALL, 36),
        (&["github", "_pat_"], ALL, 82),
        (&["gl", "pat-"], ALL, 20),
        (&["gl", "rt-"], ALL, 20),
        (&["ATA", "TT3"], ALL, 180),
        (&["np", "m_"], ALL, 36),
        (&["py", "pi-"], ALL, 150),
        (&["ruby", "gems_"], HEX, 48),
        (&["dckr", "_pat_"], ALL, 27),
        (&["AK", "IA"], UPPER, 16),
        (&["AI", "za"], ALL, 35),
        (&["GOC", "SPX-"], ALL, 28),
        (&["ya", "29."], ALL, 120),
        (&["1/", "/0"], ALL, 41),
        (&["dop", "_v1_"], HEX, 64),
        (&["dor", "_v1_"], HEX, 64),
        (&["da", "pi"], HEX, 32),
        (&["pscale", "_tkn_"], ALL, 43),
        (&["sb", "p_"], HEX, 40),
        (&["sb", "_secret_"], ALL, 31),
        (&["nf", "p_"], ALL, 36),
        (&["hv", "s."], ALL, 90),
        (&["pu", "l-"], HEX, 40),
        (&["dp", ".pt."], ALL, 43),
        (&["tskey", "-auth-"], ALL, 30),
        (&["ops_", "eyJ"], ALL, 200),
        (&["AGE-", "SECRET-", "KEY-1"], UPPER, 58),
        (&["NR", "AK-"], UPPER, 27),
        (&["gl", "c_"], ALL, 80),
        (&["sn", "trys_"], ALL, 120),
        (&["xo", "xb-"], ALL, 50),
        (&["xa", "pp-1-"], ALL, 60),
        (&["S", "K"], HEX, 32),
        (&["ke", "y-"], HEX, 32),
        (&["sk", "_live_"], ALL, 24),
        (&["wh", "sec_"], ALL, 32),
        (&["s", "k_"], HEX, 48),
        (&["sq0", "atp-"], ALL, 22),
        (&["sh", "pat_"], HEX, 32),
        (&["shp", "ss_"], HEX, 32),
        (&["secr", "et_"], ALL, 43),
        (&["nt", "n_"], ALL, 46),
        (&["fi", "gd_"], ALL, 40),
        (&["lin", "_api_"], ALL, 40),
        (&["s", "l.u."], ALL, 120),
        (&["cfat", "_"], ALL, 45),
        (&["bk", "ua_"], HEX, 40),
        (&["FLY", "V", "fm2_"], ALL, 100),
        (&["gl", "soat-"], ALL, 20),
        (&["ATB", "B"], ALL, 32),
        (&["do", "o_v1_"], HEX, 64),
        (&["csk", "-"], LOWER, 48),
        (&["ver", "cel_blob_rw_", "aB3dE5fG7hJ9kL1m_"], ALL, 32),
        (&["rd", "me_"], LOWER, 70),
        (&["tf", "p_"], ALL, 44),
        (&["duf", "fel_live_"], ALL, 43),
        (&["EZ", "AK"], ALL, 54),
        (&["FLW", "SECK_TEST-"], HEX, 32),
        (&["fi", "o-u-"], ALL, 64),
        (&["tk", "-us-"], ALL, 48),
        (&["ship", "po_live_"], HEX, 40),
        (&["AQ", "VN"], ALL, 36),
        (&["CF", "PAT-"], ALL, 43),
        (&["EA", "A"], ALL, 150),
    ];
    let plain = (1_u32..).zip(rows).map(|(seed, (mark, alphabet, length))| {
        let mark = mark.concat().replace("FLYV", "");
        format!("{mark}{}", random_of(alphabet, *length, seed))
    });
    let (r, h) = (|length| random_of(ALL, length, 71), |length| random_of(HEX, length, 72));
    let parts = [
        format!("S{}.{}.{}", "G", r(22), r(43)),
        format!("{}.{}v1.{}", r(14), "atlas", r(60)),
        format!("PM{}-{}-{}", "AK", h(24), h(34)),
        format!("gl{}_{}_{}", "sa", r(32), h(8)),
        format!("pa{}-na1-{}-{}-{}-{}-{}", "t", h(8), h(4), h(4), h(4), h(12)),
        format!("pa{}{}.{}", "t", r(14), h(64)),
        format!("lsv2{}_{}_{}", "_pt", h(32), h(10)),
        format!("hooks.slack{}/services/T{}/B{}/{}", ".com", random_of(UPPER, 8, 1), random_of(UPPER, 8, 2), r(24)),
        format!("discord.com/api{}/{}/{}", "/webhooks", "123456789012345678", r(68)),
        format!("M{}.{}.{}", random_of(ALL, 25, 3), random_of(ALL, 6, 4), r(38)),
        format!("a1B8{}{}", "Q~", r(33)),
        format!("re{}{}_{}", "_", r(8), r(24)),
        format!("{}-us{}", h(32), 12),
        format!("pk{}12345678_{}", "_", random_of(UPPER, 32, 5)),
        format!("dt0{}.{}.{}", "c01", random_of(UPPER, 24, 6), random_of(UPPER, 64, 7)),
        format!("pa{}{}.{}.{}", "t.", r(22), h(24), r(20)),
        format!("access{}{}-{}-{}-{}-{}", "-production-", h(8), h(4), h(4), h(4), h(12)),
        format!("st{}{}.{}.{}", ".", h(24), h(32), h(32)),
        format!("snyk{}{}.{}", "_uat.", h(8), r(70)),
        format!("sk{}{}.{}", ".eyJ", r(80), r(22)),
        format!("ya{}c.{}", "29.", r(120)),
        format!("ey{}.eyJ{}.{}", format_args!("J{}", r(20)), r(60), r(43)),
    ];
    plain.chain(parts).collect()
}

fn escaped(key: &str, each: impl Fn(char) -> String) -> String {
    key.chars().map(each).collect()
}

fn in_lines(key: &str, width: usize, line_end: &str) -> String {
    let bytes = key.as_bytes().chunks(width);
    bytes.map(|line| String::from_utf8_lossy(line).into_owned()).collect::<Vec<_>>().join(line_end)
}

/// The ways in which a key may be written.
fn forms(key: &str) -> Vec<(&'static str, String)> {
    let code = |c: char| u32::from(c);
    let middle = key.len() / 2;
    let (first, second) = key.split_at(middle);
    vec![
        ("plain", key.to_owned()),
        ("coloured inside", format!("{first}\u{1b}[1;31m{second}")),
        ("coloured whole", format!("\u{1b}[32m{key}\u{1b}[0m")),
        ("coloured letters", escaped(key, |c| format!("\u{1b}[3{}m{c}", code(c) % 8))),
        ("colours as text", format!("{first}\\u001b[31m{second}\\x1b[0m")),
        ("hyperlink", format!("{first}\u{1b}]8;;\u{7}{second}")),
        ("json escapes", escaped(key, |c| format!("\\u{:04x}", code(c)))),
        (
            "some json escapes",
            escaped(key, |c| if code(c) % 3 == 0 { format!("\\u{:04X}", code(c)) } else { c.into() }),
        ),
        ("json in json", escaped(key, |c| format!("\\\\u{:04x}", code(c)))),
        ("hexadecimal escapes", escaped(key, |c| format!("\\x{:02x}", code(c)))),
        ("octal escapes", escaped(key, |c| format!("\\{:03o}", code(c)))),
        ("entities", escaped(key, |c| format!("&#{};", code(c)))),
        ("hexadecimal entities", escaped(key, |c| format!("&#x{:x};", code(c)))),
        ("percent", escaped(key, |c| format!("%{:02X}", code(c)))),
        (
            "percent of some",
            escaped(key, |c| if c.is_ascii_alphanumeric() { c.into() } else { format!("%{:02x}", code(c)) }),
        ),
        ("zero width", escaped(key, |c| format!("{c}\u{200b}"))),
        ("soft hyphens and tags", format!("{first}\u{ad}\u{e0041}{second}")),
        ("nul bytes", escaped(key, |c| format!("{c}\0"))),
        ("shell continuation", format!("{first}\\\n{second}")),
        ("quoted-printable", in_lines(key, 17, "=\r\n")),
        ("two lines", format!("{first}\n{second}")),
        ("two lines, indented", format!("{first}\r\n    {second}")),
        ("lines of twenty", in_lines(key, 20, "\n")),
        ("base64", base64(&format!("user:{key}:"))),
        ("base64 in lines", in_lines(&base64(&format!("the user is someone: {key} and more text")), 60, "\n")),
        ("escaped line end", format!("{first}\\n{second}")),
        ("escaped line end in json in json", format!("{first}\\\\r\\\\n{second}")),
        ("line end of an address", format!("{first}%0A{second}")),
        ("entity of a line end", format!("{first}&#10;{second}")),
        ("behind a line", format!("it is\n{first}\n{second}\n")),
        ("behind a line, escaped", format!("it is\\n{first}\\n{second}\\nand on")),
        ("tab", format!("{first}\t{second}")),
        ("carriage return", format!("{first}\r{second}")),
        ("no-break space", format!("{first}\u{a0}{second}")),
        ("tag", format!("{first}<br/>{second}")),
        ("bold", format!("{first}<b class=\"x\">{second}</b>")),
        ("quoted lines", format!("> {first}\n> {second}")),
        ("commented lines", format!("# {first}\n# {second}")),
        ("lines of a table", format!("| {first} |\n| {second} |")),
        ("numbered lines", format!("     1\t{first}\n     2\t{second}")),
        ("found lines", format!("a/f.env:1:{first}\na/f.env:2:{second}")),
        ("added lines", format!("+{first}\n+{second}")),
        ("taken lines", format!("-{first}\n-{second}")),
        ("strings", format!("{first}\" \"{second}")),
        ("strings put together", format!("{first}' +\n    '{second}")),
        ("colours of cat", format!("^[[31m{first}^[[0m{second}")),
        ("soft hyphen by name", format!("{first}&shy;{second}")),
        ("escape()", escaped(key, |c| format!("%u{:04X}", code(c)))),
        ("style sheet", escaped(key, |c| format!("\\{:x} ", code(c)))),
        ("mail", escaped(key, |c| format!("={:02X}", code(c)))),
        ("diff", format!("-{key}\n+{key}\n+{key}")),
        ("markdown", key.replace('_', "\\_")),
        ("slashes of json", key.replace('/', "\\/")),
    ]
}

/// The places where a key may stand.
fn places(key: &str) -> Vec<String> {
    vec![
        key.to_owned(),
        format!("{key}\n"),
        format!("the key is {key}, keep it"),
        format!("\"{key}\""),
        format!("'{key}';"),
        format!("KEY={key}\nOTHER=1\n"),
        format!("export KEY=\"{key}\" # set"),
        format!("{{\"key\": \"{key}\", \"n\": 1}}"),
        format!("key: {key}\nnext: value\n"),
        format!("https://api.example.org/v1?key={key}&page=2"),
        format!("https://api.example.org/{key}/rest"),
        format!("Authorization: Bearer {key}\r\n"),
        format!("x-api-key: {key}\r\nhost: example.org\r\n"),
        format!("curl -H 'X-Key: {key}' https://example.org"),
        format!("<add key=\"k\" value=\"{key}\"/>"),
        format!("+{key}\n-old\n"),
        format!("file.env:12:{key}"),
        format!("| name | {key} |"),
        format!("error: bad key ({key})"),
        format!("é{key}é"),
        format!("// {key}"),
        format!("\t[{key}]\t"),
    ]
}

/// True if twelve characters of `secret` in a row can be read in `masked`: as it stands, white space left out, or
/// decoded.
fn leaks(masked: &str, secret: &str) -> bool {
    let read = Unescaped::of(masked, true).text;
    let joined: String = read.split_whitespace().collect();
    let mut texts = vec![masked.to_owned(), joined.clone(), read];
    for run in joined.split(|c: char| !c.is_ascii() || !super::base64::is_base64(c as u8)).filter(|run| run.len() >= 16)
    {
        texts.extend((0..4).filter_map(|offset| run.as_bytes().get(offset..).map(decoded)));
    }
    // What stands before the secret part of an address may be shown.
    let secret = &secret[secret.len() - secret.len().min(36)..];
    (0..secret.len() - 12).any(|at| texts.iter().any(|text| text.contains(&secret[at..at + 12])))
}

#[test]
fn every_key_in_every_form_at_every_place_is_masked() {
    let mut leaked = Vec::new();
    for key in keys() {
        // Without a mark of its own nothing tells it in base64 or in two pieces.
        let is_unmarked = key.starts_with('M') || key.starts_with("ey");
        for (number, (form, written)) in forms(&key).into_iter().enumerate() {
            if is_unmarked && form == "base64 in lines" {
                continue;
            }
            for (place, text) in places(&written).into_iter().enumerate().skip(number % 3).step_by(3) {
                if leaks(&mask(&text), &key) {
                    leaked.push(format!("{key} {form} at {place}: {:?} -> {:?}", text, mask(&text)));
                }
            }
        }
    }
    let count = leaked.len();
    leaked.truncate(40);
    assert!(count == 0, "{count} leak:\n{}", leaked.join("\n"));
}

#[test]
fn an_operators_value_is_masked_in_every_form() {
    let value = "pa$$ w0rd/with:odd+chars=";
    let known: SecretSet = [value].into_iter().collect();
    for (form, written) in forms(value) {
        // Of a value with spaces nothing tells where a break belongs to it.
        if form.contains("line")
            || ["tab", "tag", "bold", "carriage return", "no-break space"].contains(&form)
            || form.starts_with("strings")
        {
            continue;
        }
        let masked = known.mask(&format!("x {written} y")).into_owned();
        assert!(!leaks(&masked, value), "{form}: {masked:?}");
    }
    let value = random(30);
    let known: SecretSet = [&value].into_iter().collect();
    for (form, written) in forms(&value) {
        let masked = known.mask(&format!("x={written} y")).into_owned();
        assert!(!leaks(&masked, &value), "{form}: {masked:?}");
    }
}

#[test]
fn a_private_key_is_masked_however_its_lines_are_marked() {
    let lines: Vec<String> = (0..9).map(|seed| random_of(ALL, if seed == 8 { 20 } else { 64 }, seed)).collect();
    let header = format!("-----BEGIN RSA {} KEY-----", "PRIVATE");
    let footer = format!("-----END RSA {} KEY-----", "PRIVATE");
    let all: Vec<String> = [vec![header], lines.clone(), vec![footer]].concat();
    let marked = |mark: &dyn Fn(usize, &String) -> String, end: &str| {
        all.iter().enumerate().map(|(number, line)| mark(number, line)).collect::<Vec<_>>().join(end)
    };
    let texts = [
        marked(&|number, line| format!("{:6}\t{line}", number + 1), "\n"),
        marked(&|number, line| format!("{}:{line}", number + 1), "\n"),
        marked(&|_, line| format!("+{line}"), "\n"),
        marked(&|_, line| format!("-{line}"), "\n"),
        marked(&|_, line| format!("> {line}"), "\n"),
        marked(&|number, line| format!("{number:4} | {line}"), "\r\n"),
        marked(&|_, line| format!("\u{1b}[33m{line}\u{1b}[0m"), "\n"),
        marked(&|_, line| line.clone(), "\\n"),
        marked(&|_, line| line.clone(), "\\\\n"),
        marked(&|_, line| line.clone(), "\\u000a"),
        marked(&|_, line| line.clone(), "&#10;"),
        marked(&|_, line| line.replace(' ', "%20").replace('+', "%2B"), "%0A"),
        marked(&|_, line| line.clone(), "=\n\n"),
        marked(&|_, line| format!("\"{line}\\n\" +"), "\n"),
    ];
    for text in texts {
        let masked = mask(&text);
        for line in &lines {
            assert!(!leaks(&masked, line), "{text}\n->\n{masked}");
        }
    }
}

#[test]
fn a_cut_leaves_no_part_of_a_secret_that_was_masked_before_it() {
    let key = format!("ghp_{}", random(36));
    let text = format!("{} {key} end", "x".repeat(100));
    for cut in 0..text.len() {
        let shown = cut_chars(&text, cut, "...");
        assert!(!leaks(&shown, &key), "{shown}");
    }
    assert_eq!(cut_chars("short", 5, "..."), "short");
    assert_eq!(cut_chars("shorter", 5, "..."), "short...");
}

#[test]
fn ordinary_sources_and_documents_are_left_as_they_are() {
    let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut folders = vec![root.join("crates"), root.join("docs"), root.join("examples"), root.join("xtask")];
    let mut masked_lines = Vec::new();
    let mut looked_at = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the repository").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            looked_at += 1;
            // Tests of masking have what looks like secrets on purpose.
            let is_told = path.components().any(|part| part.as_os_str() == "tests") || text.contains("#[cfg(test)]");
            let masked = mask(&text);
            if !is_told && masked != text {
                let line = masked.lines().find(|line| line.contains(MASKED)).unwrap_or_default();
                masked_lines.push(format!("{}: {line}", path.display()));
            }
        }
    }
    assert!(looked_at > 300, "only {looked_at} files");
    assert_eq!(masked_lines, [""; 0]);
}

#[test]
fn what_only_looks_like_a_secret_is_left_alone() {
    for text in [
        "3a798d4c0ffee3a798d4c0ffee3a798d4c0ffee3a\n0123456789abcdef0123456789abcdef01234567\n",
        "e5b7a0d2-1c7a-4d5e-9b1a-3f5c2d1e0f9a\ne5b7a0d2-1c7a-4d5e-9b1a-3f5c2d1e0f9b",
        "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "sk-foo-1\nsk-foo-2\nsk-foo-3\n",
        "gh\np_rest of the line\nnpm\n_modules/aB3/cD4/eF5",
        "task-runner\nask-again\ndisk-usage-1\n",
        "hf_transfer\nfw_update\npattern.rs\npat-terns\nkey-value\nsecret_name\nsk_buff\n",
        "crates/core/src/a1.rs\ncrates/core/src/b2.rs\ncrates/core/src/c3.rs\n",
        "\u{1b}[32mok\u{1b}[0m \u{1b}[1mcrates/core/src/gate/secrets/mod.rs\u{1b}[0m:12",
        "%2Fhome%2Fuser%2Fprojects%2Fadjutant%2Fcrates%2Fcore%2Fsrc",
        "let pattern = \"\\\\u0041[a-z]+\\\\n\";",
        "class=\"sk-spinner-large-dark-mode-v2 sk-circle12\"",
        "sk-US-locale-switcher-component2",
        "token_id: 5cdf689a-b5db-426e-b854-02263b249f2f",
        "secretName: my-app-tls-secret-2024-v1",
        "token = generateTokenForUser123(user)",
        "csrf_token: csrfTokenFromCookie1(req)",
        "Basic authentication-scheme-v2",
        "api_key: YOUR_API_KEY_GOES_HERE_12345",
        "mailgun is here\n\n\n7e24bdb7ec83756378368f7e732d2e43\n3ec56f24",
        "test_3a798d4c0ffee3a798d4c0ffee3a798d4c0ffee3a live_view_of_the_page_1",
        "cell1\tcell2\tcell3\n> a1 b2\n> c3\n# d4\n| e5 | f6 |\n",
        "+crates/core/src/a1.rs\n-crates/core/src/b2.rs\n",
        "printf '%s\\n' \"$HOME\" \\\n  --long-option=value \\\n  --other",
        "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB\nQUFBQUFB",
        "The Skeleton-Key-2000 series; SKU SK0123456; dapi is an API; pulls-and-pushes",
    ] {
        assert_eq!(mask(text), text);
    }
}

#[test]
fn the_end_of_a_wrapped_key_is_masked_whatever_it_looks_like() {
    let key = format!("sk-ant-{}{}abcd", random(33), random(40));
    check(&format!("x\n{}\nend\n", in_lines(&key, 40, "\n")), "x\n[masked:anthropic_key]\nend\n");
    let (first, second) = (format!("sk-ant-{}", random(40)), format!("ghp_{}", random(36)));
    check(&format!("+{first}\n+{second}\n"), "+[masked:anthropic_key]\n+[masked:github_token]\n");
    check(&format!("{first}\nNEXT1={}", "a"), "[masked:anthropic_key]\nNEXT1=a");
}

#[test]
fn what_is_named_beside_a_key_without_a_mark_tells_it() {
    let (hex, part) = (random_of(HEX, 32, 9), random_of(HEX, 8, 10));
    let user = "1234567890123456";
    for (text, masked) in [
        (format!("OKTA_X=00{}", random(40)), "OKTA_X=[masked:okta_token]".to_owned()),
        (format!("mailgun: {hex}-{part}-{part}"), "mailgun: [masked:mailgun_key]".to_owned()),
        (format!("codecov -t {hex}"), "codecov -t [masked:codecov_token]".to_owned()),
        (format!("1/{user}:{hex}."), format!("1/{user}:[masked:asana_token].")),
        (format!("x {hex}-{part}-{part} {hex}"), format!("x {hex}-{part}-{part} {hex}")),
    ] {
        check(&text, &masked);
    }
}

#[test]
fn a_bots_token_is_masked_whatever_it_is_glued_to() {
    let token = format!("AA{}", random(33));
    for (before, after) in [("a+", "+b"), (".", "."), ("https://x:", "@h.example/r"), ("x_", " "), ("", "\\n")] {
        let masked = mask(&format!("{before}3387425168:{token}{after}")).into_owned();
        assert!(!leaks(&masked, &token), "{masked}");
    }
    let token = format!("M{}.{}.{}", random(25), random(6), random(38));
    check(&format!("x_{token} y"), "x_[masked:discord_token] y");
    for text in [format!("user:3387425168:AA{}", random(33)), token, format!("AccountKey={}==", random(86))] {
        let masked = mask(&base64(&text)).into_owned();
        assert!(masked.starts_with(MASKED), "{masked}");
    }
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(format!("ghp_{}", random(36))),
        Just(format!("sk-ant-{}", random(30))),
        Just(pem("\n").0),
        Just(pem("\\n").0),
        Just(base64(&format!("k ghp_{}", random(36)))),
        Just("password=".to_owned()),
        Just("Authorization: Bearer ".to_owned()),
        Just("postgres://user:".to_owned()),
        Just("AKIA".to_owned() + "IOSFODNN7EXAMPLE"),
        Just(format!("ghp_{}\n{}", random(10), random(26))),
        Just(in_lines(&base64(&format!("k ghp_{} and more", random(36))), 20, "\n")),
        Just(escaped(&format!("ghp_{}", random(36)), |c| format!("\\u{:04x}", u32::from(c)))),
        Just(escaped(&format!("ghp_{}", random(36)), |c| format!("{c}\u{1b}[0m"))),
        Just(escaped("hunter2 hunter2", |c| format!("&#{};", u32::from(c)))),
        Just(format!("{}=\n{}", random(20), random(20))),
        "[\\\\%&=\u{1b}u0-9a-f;#\\[\r\n]{0,12}",
        Just(format!("ghp_{}\\n{}", random(10), random(26))),
        Just(format!("+sk-ant-{}\n+{}\n", random(20), random(20))),
        Just(format!("a/b.env:12:ghp_{}\na/b.env:13:{}", random(20), random(16))),
        Just(format!("\"ghp_{}\" +\n\"{}\"", random(20), random(16))),
        Just(format!("3387425168:AA{}\n{}", random(13), random(20))),
        "[<>br/|\"'+:1\t\r\n #\u{a0}.]{0,12}",
        "[\\\\^\\[=%u0-9A-F \n]{0,12}",
        Just("hunter2 hunter2".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----\n".to_owned()),
        Just("\n".to_owned()),
        Just(" ".to_owned()),
        Just("é’".to_owned()),
        (0usize..60).prop_map(random),
        (7_000usize..9_000).prop_map(random),
        "\\PC{0,8}",
    ]
}

proptest! {
    #[test]
    fn cutting_a_text_into_chunks_changes_nothing(
        pieces in proptest::collection::vec(piece(), 0..12),
        cuts in proptest::collection::vec(0usize..2_000, 1..24),
        is_known in any::<bool>(),
    ) {
        let text = pieces.concat();
        let known: SecretSet = if is_known { ["hunter2 hunter2", "hunter2 hu"].into_iter().collect() } else { SecretSet::default() };
        let mut masker = Masker::new(known.clone());
        let mut masked = String::new();
        let mut rest = text.as_str();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let mut cut = (*cut).clamp(1, rest.len());
            while !rest.is_char_boundary(cut) {
                cut += 1;
            }
            let (chunk, after) = rest.split_at(cut);
            masked.push_str(&masker.push(chunk));
            rest = after;
        }
        masked.push_str(&masker.finish());
        prop_assert_eq!(&masked, &known.mask(&text).into_owned());
    }

    #[test]
    fn any_text_can_be_masked(text in any::<String>()) {
        let _masked = mask(&text);
    }
}

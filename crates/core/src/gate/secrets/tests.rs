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
        assert!(pieces * 1000 - given <= 9000, "{} bytes held", pieces * 1000 - given);
    }
    let mut masker = Masker::default();
    assert_eq!(masker.push("a word, then "), "a word, then ");
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

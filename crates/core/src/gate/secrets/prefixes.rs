//! The shapes with a mark of their own: what providers put into their keys so that scanners know them.
//!
//! One row for each, with a longer mark before a shorter one that it begins with. The marks and alphabets are those
//! that the providers document; lengths are lower bounds, so that a longer key of tomorrow is still one.

use std::sync::LazyLock;

use regex::Regex;

use super::base64::encoded;

/// A family of keys that a mark tells.
#[derive(Debug)]
pub(super) struct KeyShape {
    /// The text that the key begins with, or that stands in it.
    pub(super) mark: &'static str,
    /// The key, as a pattern; the mark included.
    pattern: &'static str,
    pub(super) kind: &'static str,
    looks: Looks,
    /// The length of the shortest that is one.
    least: usize,
    /// The length that such a key has, if it has but one; 0 otherwise.
    length: usize,
}

/// The condition that tells a match from ordinary words.
#[derive(Debug, Clone, Copy)]
enum Looks {
    /// The mark says enough.
    Marked,
    /// Words are joined with hyphens too (`sk-spinner-large-dark`), but keys have digits.
    Digits,
    /// The mark is short: letters of both cases and digits.
    Mixed,
    /// The mark is a word: digits, and the length is the one that such a key has.
    Exact,
}

use Looks::{Digits, Exact, Marked, Mixed};

const fn row(
    mark: &'static str,
    pattern: &'static str,
    kind: &'static str,
    looks: Looks,
    least: usize,
    length: usize,
) -> KeyShape {
    KeyShape { mark, pattern, kind, looks, least, length }
}

static SHAPES: &[KeyShape] = &[
    row("sk.eyJ", "sk[.]eyJ[A-Za-z0-9_-]+[.][A-Za-z0-9_-]+", "mapbox_token", Marked, 60, 0),
    row("sk-ant-", "sk-ant-[A-Za-z0-9_-]+", "anthropic_key", Marked, 23, 0),
    row("sk-or-", "sk-or-[A-Za-z0-9_-]+", "openrouter_key", Digits, 26, 0),
    row("sk-", "sk-[A-Za-z0-9_-]+", "openai_key", Digits, 23, 0),
    row("sess-", "sess-[A-Za-z0-9]+", "openai_key", Mixed, 45, 45),
    row("gsk_", "gsk_[A-Za-z0-9]+", "groq_key", Mixed, 36, 56),
    row("pplx-", "pplx-[A-Za-z0-9]+", "perplexity_key", Digits, 37, 53),
    row("xai-", "xai-[A-Za-z0-9]+", "xai_key", Marked, 44, 84),
    row("fw_", "fw_[A-Za-z0-9]+", "fireworks_key", Mixed, 23, 0),
    row("r8_", "r8_[A-Za-z0-9]+", "replicate_token", Digits, 40, 40),
    row("hf_", "hf_[A-Za-z0-9]+", "huggingface_token", Marked, 33, 37),
    row("api_org_", "api_org_[A-Za-z0-9]+", "huggingface_token", Marked, 38, 42),
    row("nvapi-", "nvapi-[A-Za-z0-9_-]+", "nvidia_key", Marked, 56, 70),
    row("csk-", "csk-[a-z0-9]+", "cerebras_key", Digits, 44, 52),
    row("tgp_v1_", "tgp_v1_[A-Za-z0-9_-]+", "together_key", Marked, 47, 0),
    row("lsv2_", "lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]+", "langsmith_key", Marked, 51, 51),
    row("pcsk_", "pcsk_[A-Za-z0-9_]+", "pinecone_key", Marked, 45, 0),
    row("tvly-", "tvly-[A-Za-z0-9-]+", "tavily_key", Digits, 25, 0),
    row("ABSK", "ABSK[A-Za-z0-9+/]+", "bedrock_key", Mixed, 104, 0),
    row("ghp_", "ghp_[A-Za-z0-9]+", "github_token", Marked, 34, 40),
    row("gho_", "gho_[A-Za-z0-9]+", "github_token", Marked, 34, 40),
    row("ghu_", "ghu_[A-Za-z0-9]+", "github_token", Marked, 34, 40),
    row("ghs_", "ghs_[A-Za-z0-9]+", "github_token", Marked, 34, 40),
    row("ghr_", "ghr_[A-Za-z0-9]+", "github_token", Marked, 34, 0),
    row("github_pat_", "github_pat_[A-Za-z0-9_]+", "github_token", Marked, 41, 93),
    row("glpat-", "glpat-[A-Za-z0-9_-]{16,}(?:[.][A-Za-z0-9_-]+)*", "gitlab_token", Marked, 0, 0),
    row("glrt-", "glrt-[A-Za-z0-9_.-]+", "gitlab_token", Digits, 23, 0),
    row("glrtr-", "glrtr-[A-Za-z0-9_.-]+", "gitlab_token", Digits, 24, 0),
    row("gldt-", "gldt-[A-Za-z0-9_-]+", "gitlab_token", Digits, 23, 0),
    row("glptt-", "glptt-[A-Za-z0-9_-]+", "gitlab_token", Digits, 24, 0),
    row("glft-", "glft-[A-Za-z0-9_-]+", "gitlab_token", Digits, 23, 0),
    row("glsoat-", "glsoat-[A-Za-z0-9_-]+", "gitlab_token", Digits, 25, 0),
    row("glcbt-", "glcbt-[A-Za-z0-9_-]+", "gitlab_token", Digits, 24, 0),
    row("glagent-", "glagent-[A-Za-z0-9_-]+", "gitlab_token", Digits, 26, 0),
    row("glimt-", "glimt-[A-Za-z0-9_-]+", "gitlab_token", Digits, 24, 0),
    row("gloas-", "gloas-[A-Za-z0-9_-]+", "gitlab_token", Digits, 24, 0),
    row("glffct-", "glffct-[A-Za-z0-9_-]+", "gitlab_token", Digits, 25, 0),
    row("GR1348941", "GR1348941[A-Za-z0-9_-]+", "gitlab_token", Marked, 29, 0),
    row("ATATT3", "ATATT3[A-Za-z0-9_=-]+", "atlassian_token", Marked, 66, 0),
    row("ATCTT3", "ATCTT3[A-Za-z0-9_=-]+", "atlassian_token", Marked, 66, 0),
    row("ATBB", "ATBB[A-Za-z0-9]+", "atlassian_token", Mixed, 32, 36),
    row("npm_", "npm_[A-Za-z0-9]+", "npm_token", Marked, 34, 40),
    row("pypi-", "pypi-[A-Za-z0-9_-]+", "pypi_token", Marked, 45, 0),
    row("rubygems_", "rubygems_[a-f0-9]+", "rubygems_key", Marked, 49, 57),
    row("oy2", "oy2[a-z0-9]+", "nuget_key", Digits, 46, 46),
    row("dckr_pat_", "dckr_pat_[A-Za-z0-9_-]+", "docker_token", Marked, 29, 36),
    row("dckr_oat_", "dckr_oat_[A-Za-z0-9_-]+", "docker_token", Marked, 29, 0),
    row("AKCp", "AKCp[A-Za-z0-9]+", "artifactory_key", Mixed, 64, 73),
    row("AKIA", "AKIA[A-Z0-9]+", "aws_key_id", Marked, 20, 20),
    row("ASIA", "ASIA[A-Z0-9]+", "aws_key_id", Marked, 20, 20),
    row("AIza", "AIza[A-Za-z0-9_-]+", "google_key", Marked, 34, 39),
    row("GOCSPX-", "GOCSPX-[A-Za-z0-9_-]+", "google_oauth", Marked, 27, 35),
    row("ya29.", "ya29[.][A-Za-z0-9_-]+(?:[.][A-Za-z0-9_-]+)*", "google_oauth", Marked, 25, 0),
    row("1//0", "1//0[A-Za-z0-9_-]+", "google_oauth", Mixed, 34, 0),
    row("8Q~", "[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]+", "azure_secret", Mixed, 37, 40),
    row("7Q~", "[A-Za-z0-9_~.-]{3}7Q~[A-Za-z0-9_~.-]+", "azure_secret", Mixed, 37, 37),
    row("LTAI", "LTAI[A-Za-z0-9]+", "alibaba_key_id", Mixed, 16, 0),
    row("dop_v1_", "dop_v1_[a-f0-9]+", "do_token", Marked, 47, 71),
    row("doo_v1_", "doo_v1_[a-f0-9]+", "do_token", Marked, 47, 71),
    row("dor_v1_", "dor_v1_[a-f0-9]+", "do_token", Marked, 47, 71),
    row("dapi", "dapi[a-f0-9]{32}(?:-[0-9])?", "databricks_key", Digits, 0, 36),
    row("pscale_", "pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]+", "planetscale_key", Marked, 41, 0),
    row("sbp_", "sbp_(?:v0_)?[a-f0-9]+", "supabase_key", Marked, 44, 0),
    row("sb_secret_", "sb_secret_[A-Za-z0-9_-]+", "supabase_key", Marked, 30, 0),
    row("nfp_", "nfp_[A-Za-z0-9]+", "netlify_token", Mixed, 34, 40),
    row("nfc_", "nfc_[A-Za-z0-9]+", "netlify_token", Mixed, 34, 40),
    row("nfo_", "nfo_[A-Za-z0-9]+", "netlify_token", Mixed, 34, 40),
    row("nfu_", "nfu_[A-Za-z0-9]+", "netlify_token", Mixed, 34, 40),
    row("HRKU-", "HRKU-[A-Za-z0-9_-]+", "heroku_key", Digits, 35, 0),
    row("fm1_", "fm1_[A-Za-z0-9+/]+", "fly_token", Mixed, 64, 0),
    row("fm2_", "fm2_[A-Za-z0-9+/]+", "fly_token", Mixed, 64, 0),
    row("fo1_", "fo1_[A-Za-z0-9_-]+", "fly_token", Mixed, 47, 47),
    row("v1.0-", "v1[.]0-[a-f0-9]{24}-[a-f0-9]+", "cloudflare_key", Marked, 130, 0),
    row("cfat_", "cfat_[A-Za-z0-9_-]+", "cloudflare_key", Mixed, 45, 0),
    row("cfut_", "cfut_[A-Za-z0-9_-]+", "cloudflare_key", Mixed, 45, 0),
    row("cfk_", "cfk_[A-Za-z0-9_-]+", "cloudflare_key", Mixed, 44, 0),
    row("ddp_", "ddp_[A-Za-z0-9]+", "deno_token", Mixed, 34, 40),
    row("hvs.", "hvs[.][A-Za-z0-9_-]+", "vault_token", Mixed, 24, 0),
    row("hvb.", "hvb[.][A-Za-z0-9_-]+", "vault_token", Mixed, 24, 0),
    row("hvr.", "hvr[.][A-Za-z0-9_-]+", "vault_token", Mixed, 24, 0),
    row(".atlasv1.", "[A-Za-z0-9]{14}[.]atlasv1[.][A-Za-z0-9_=-]+", "terraform_token", Marked, 63, 0),
    row("pul-", "pul-[a-f0-9]+", "pulumi_token", Digits, 44, 44),
    row(
        "dp.",
        "dp[.](?:pt|st(?:[.][a-z0-9_-]{2,35})?|ct|sa|scim|audit)[.][A-Za-z0-9]+",
        "doppler_token",
        Marked,
        42,
        0,
    ),
    row("tskey-", "tskey-[A-Za-z0-9-]+", "tailscale_key", Digits, 22, 0),
    row("ops_eyJ", "ops_eyJ[A-Za-z0-9_-]+", "onepassword_key", Marked, 67, 0),
    row("AGE-SECRET-KEY-", "AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]+", "age_key", Marked, 66, 74),
    row("bkua_", "bkua_[a-f0-9]+", "buildkite_key", Marked, 45, 45),
    row("CCIPAT_", "CCIPAT_[A-Za-z0-9_]+", "circleci_token", Marked, 47, 0),
    row("sgp_", "sgp_[A-Za-z0-9_]+", "sourcegraph_key", Digits, 44, 0),
    row("squ_", "squ_[a-f0-9]+", "sonar_token", Marked, 44, 44),
    row("sqp_", "sqp_[a-f0-9]+", "sonar_token", Marked, 44, 44),
    row("sqa_", "sqa_[a-f0-9]+", "sonar_token", Marked, 44, 44),
    row("pnu_", "pnu_[A-Za-z0-9]+", "prefect_key", Digits, 40, 40),
    row("PMAK-", "PMAK-[A-Za-z0-9]{24}-[A-Za-z0-9]+", "postman_key", Marked, 64, 64),
    row("NRAK-", "NRAK-[A-Z0-9]+", "newrelic_key", Digits, 25, 32),
    row("NRJS-", "NRJS-[a-f0-9]+", "newrelic_key", Digits, 24, 24),
    row("NRII-", "NRII-[A-Za-z0-9_-]+", "newrelic_key", Digits, 35, 37),
    row("glc_", "glc_[A-Za-z0-9+/]+", "grafana_token", Mixed, 36, 0),
    row("glsa_", "glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]+", "grafana_token", Marked, 46, 46),
    row("sntrys_", "sntrys_[A-Za-z0-9+/_=-]+", "sentry_token", Marked, 47, 0),
    row("sntryu_", "sntryu_[a-f0-9]+", "sentry_token", Marked, 71, 71),
    row("xoxe.xox", "xoxe[.]xox[bp]-[A-Za-z0-9-]+", "slack_token", Marked, 22, 0),
    row("xoxa-", "xoxa-[A-Za-z0-9-]+", "slack_token", Marked, 17, 0),
    row("xoxb-", "xoxb-[A-Za-z0-9-]+", "slack_token", Marked, 17, 0),
    row("xoxe-", "xoxe-[A-Za-z0-9-]+", "slack_token", Marked, 17, 0),
    row("xoxo-", "xoxo-[A-Za-z0-9-]+", "slack_token", Marked, 17, 0),
    row("xoxp-", "xoxp-[A-Za-z0-9-]+", "slack_token", Marked, 17, 0),
    row("xoxr-", "xoxr-[A-Za-z0-9-]+", "slack_token", Marked, 17, 0),
    row("xoxs-", "xoxs-[A-Za-z0-9-]+", "slack_token", Marked, 17, 0),
    row("xoxc-", "xoxc-[A-Za-z0-9-]+", "slack_token", Marked, 17, 0),
    row("xoxd-", "xoxd-[A-Za-z0-9%+/-]+", "slack_token", Marked, 17, 0),
    row("xapp-", "xapp-[A-Za-z0-9-]+", "slack_token", Digits, 25, 0),
    row(
        "hooks.slack.com/",
        "hooks[.]slack[.]com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]+",
        "slack_webhook",
        Digits,
        45,
        0,
    ),
    row("/api/webhooks/", "/api/webhooks/[0-9]{17,}/[A-Za-z0-9_-]+", "discord_webhook", Marked, 92, 0),
    row("/webhookb2/", "/webhookb2/[A-Za-z0-9@/_-]+", "teams_webhook", Marked, 71, 0),
    row("SK", "SK[a-f0-9]+", "twilio_key", Digits, 34, 34),
    row("SG.", "SG[.][A-Za-z0-9_-]{16,}[.][A-Za-z0-9_-]+", "sendgrid_key", Mixed, 36, 69),
    row("key-", "key-[a-f0-9]+", "mailgun_key", Digits, 36, 36),
    row("xkeysib-", "xkeysib-[a-f0-9]{60,}-[A-Za-z0-9]+", "brevo_key", Marked, 85, 89),
    row("sk_live_", "sk_live_[A-Za-z0-9]+", "stripe_key", Marked, 24, 0),
    row("rk_live_", "rk_live_[A-Za-z0-9]+", "stripe_key", Marked, 24, 0),
    row("sk_test_", "sk_test_[A-Za-z0-9]+", "stripe_key", Marked, 24, 0),
    row("rk_test_", "rk_test_[A-Za-z0-9]+", "stripe_key", Marked, 24, 0),
    row("whsec_", "whsec_[A-Za-z0-9+/]+", "stripe_key", Mixed, 30, 0),
    row("sk_", "sk_[a-f0-9]+", "elevenlabs_key", Digits, 43, 51),
    row("sq0atp-", "sq0atp-[A-Za-z0-9_-]+", "square_token", Marked, 29, 29),
    row("sq0csp-", "sq0csp-[A-Za-z0-9_-]+", "square_token", Marked, 37, 50),
    row("EAAA", "EAAA[A-Za-z0-9_-]+", "square_token", Mixed, 60, 64),
    row("EAA", "EAA[A-Za-z0-9]+", "facebook_token", Mixed, 103, 0),
    row("re_", "re_[A-Za-z0-9]{8}_[A-Za-z0-9]+", "resend_key", Mixed, 32, 36),
    row("-us", "[a-f0-9]{32}-us[0-9]{1,2}", "mailchimp_key", Digits, 36, 0),
    row("vercel_blob_rw_", "vercel_blob_rw_[A-Za-z0-9]+_[A-Za-z0-9]+", "vercel_token", Marked, 47, 0),
    row("pk_", "pk_[0-9]{5,12}_[A-Z0-9]+", "clickup_token", Digits, 40, 0),
    row("rdme_", "rdme_[a-z0-9]+", "readme_key", Digits, 60, 75),
    row("dt0", "dt0[a-z][0-9]{2}[.][A-Z0-9]{8,}[.][A-Z0-9]+", "dynatrace_token", Marked, 70, 0),
    row("tfp_", "tfp_[A-Za-z0-9_-]+(?:[.][A-Za-z0-9_-]+)*", "typeform_token", Mixed, 44, 0),
    row("duffel_test_", "duffel_test_[A-Za-z0-9_-]+", "duffel_token", Marked, 40, 0),
    row("duffel_live_", "duffel_live_[A-Za-z0-9_-]+", "duffel_token", Marked, 40, 0),
    row("EZAK", "EZAK[A-Za-z0-9]+", "easypost_key", Mixed, 54, 58),
    row("EZTK", "EZTK[A-Za-z0-9]+", "easypost_key", Mixed, 54, 58),
    row("FLWSECK", "FLWSECK(?:_TEST)?-[A-Za-z0-9]+(?:-X)?", "flutterwave_key", Digits, 24, 0),
    row("fio-u-", "fio-u-[A-Za-z0-9_=-]+", "frameio_token", Mixed, 54, 0),
    row("live_", "live_[a-f0-9]+", "lob_key", Exact, 40, 40),
    row("test_", "test_[a-f0-9]+", "lob_key", Exact, 40, 40),
    row("access-sandbox-", "access-sandbox-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]+", "plaid_token", Marked, 51, 51),
    row(
        "access-development-",
        "access-development-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]+",
        "plaid_token",
        Marked,
        55,
        55,
    ),
    row(
        "access-production-",
        "access-production-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]+",
        "plaid_token",
        Marked,
        54,
        54,
    ),
    row("tk-us-", "tk-us-[A-Za-z0-9_-]+", "scalingo_token", Mixed, 54, 54),
    row("shippo_live_", "shippo_live_[a-f0-9]+", "shippo_token", Marked, 44, 52),
    row("shippo_test_", "shippo_test_[a-f0-9]+", "shippo_token", Marked, 44, 52),
    row("AQVN", "AQVN[A-Za-z0-9_-]+", "yandex_key", Mixed, 38, 0),
    row("st.", "st[.][a-f0-9-]{8,36}[.][a-f0-9]{32}[.][a-f0-9]+", "infisical_token", Digits, 80, 0),
    row("CFPAT-", "CFPAT-[A-Za-z0-9_-]+", "contentful_token", Marked, 43, 49),
    row("snyk_", "snyk_(?:uat|sat)[.][a-z0-9]{8}[.][A-Za-z0-9_-]+(?:[.][A-Za-z0-9_-]+)*", "snyk_token", Marked, 44, 0),
    row("cio", "cio[A-Za-z0-9]+", "crates_token", Exact, 35, 35),
    row("shp", "shp(?:at|ss|ca|pa|ua|tka)_[A-Fa-f0-9]+", "shopify_token", Marked, 38, 38),
    row("secret_", "secret_[A-Za-z0-9]+", "notion_token", Mixed, 50, 50),
    row("ntn_", "ntn_[A-Za-z0-9]+", "notion_token", Digits, 44, 50),
    row("figd_", "figd_[A-Za-z0-9_-]+", "figma_token", Mixed, 35, 45),
    row("lin_", "lin_(?:api_[A-Za-z0-9]{32,}|oauth_[a-f0-9]{64})", "linear_key", Digits, 0, 0),
    row(
        "pat-",
        "pat-[a-z]{2}[0-9]-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]+",
        "hubspot_token",
        Marked,
        44,
        44,
    ),
    row("pat.", "pat[.][A-Za-z0-9_-]{22}[.][a-f0-9]{24}[.][A-Za-z0-9]+", "harness_token", Marked, 66, 0),
    row("sat.", "sat[.][A-Za-z0-9_-]{22}[.][a-f0-9]{24}[.][A-Za-z0-9]+", "harness_token", Marked, 66, 0),
    row("pat", "pat[A-Za-z0-9]{14}[.][a-f0-9]+", "airtable_token", Marked, 82, 82),
    row("sl.", "sl[.](?:u[.])?[A-Za-z0-9_-]+", "dropbox_token", Mixed, 63, 0),
    row(
        "eyJ",
        concat!(
            r"eyJ[A-Za-z0-9_-]{10,}\.(?:eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*",
            // One that is encrypted has five parts.
            r"|[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{16,})"
        ),
        "jwt",
        Marked,
        0,
        0,
    ),
];

/// All shapes at once; how long they are is checked afterwards, which keeps the pattern small.
static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    let patterns: Vec<&str> = SHAPES.iter().map(|shape| shape.pattern).collect();
    Regex::new(&patterns.join("|")).expect("the patterns are constants that a test compiles")
});

/// A key that was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeyMatch {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: &'static str,
    /// The length that it should have, if it has but one.
    pub(super) length: Option<usize>,
}

/// The first key in `run` at or behind `from` that looks like one, whatever stands before it.
pub(super) fn next(run: &str, from: usize) -> Option<KeyMatch> {
    let mut at = from;
    while let Some(found) = PATTERN.find_at(run, at) {
        let text = found.as_str();
        let shape = SHAPES.iter().find(|shape| text.starts_with(shape.mark));
        let shape = shape.or_else(|| SHAPES.iter().find(|shape| text.contains(shape.mark)));
        if let Some(shape) = shape.filter(|shape| text.len() >= shape.least && shape.fits(text)) {
            let length = Some(shape.length).filter(|length| *length > 0);
            return Some(KeyMatch { start: found.start(), end: found.end(), kind: shape.kind, length });
        }
        at = found.end();
    }
    None
}

impl KeyShape {
    fn fits(&self, text: &str) -> bool {
        let has = |is: fn(&u8) -> bool| text.as_bytes().iter().any(is);
        match self.looks {
            Marked => true,
            Digits => has(u8::is_ascii_digit) && !is_words(text),
            Mixed => has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase),
            Exact => has(u8::is_ascii_digit) && text.len() == self.length,
        }
    }
}

/// Returns whether `text` is short words and numbers with hyphens between, as the names of styles and of resources are.
pub(super) fn is_words(text: &str) -> bool {
    let is_word = |part: &str| {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = part.len() - word.len();
        let rest = word.strip_prefix(|c: char| c.is_ascii_uppercase()).unwrap_or(word);
        let is_in_one_case =
            rest.bytes().all(|byte| byte.is_ascii_lowercase()) || word.bytes().all(|byte| byte.is_ascii_uppercase());
        is_in_one_case && word.len() <= 14 && digits <= if word.is_empty() { 5 } else { 3 }
    };
    text.split(['-', '_']).all(is_word)
}

/// True if `text` begins with a mark that no word begins with, and a few characters more.
pub(super) fn begins_with_mark(text: &str) -> bool {
    let is_telling = |mark: &str| mark.len() >= 4 || mark.ends_with(['-', '_', '.']);
    let is_begun = |mark: &str| text.len() >= mark.len() + 4 && text.starts_with(mark);
    let mut shapes = SHAPES.iter().filter(|shape| !matches!(shape.looks, Exact));
    shapes.any(|shape| is_telling(shape.mark) && is_begun(shape.mark))
}

/// Returns whether `word` is the beginning of a mark, or begins with one.
pub(super) fn may_begin_mark(word: &str) -> bool {
    SHAPES.iter().any(|shape| shape.mark.starts_with(word) || word.starts_with(shape.mark))
}

/// The marks as they stand, and as they look inside base64 data, wherever they stand in a group of three bytes.
pub(super) fn marks() -> impl Iterator<Item = String> {
    SHAPES.iter().flat_map(in_three).chain(encoded_marks())
}

/// Returns the marks as they look inside base64 data.
pub(super) fn encoded_marks() -> impl Iterator<Item = String> {
    let others = ["-----BEGIN", "AccountKey=", ":AA"].map(str::to_owned);
    let marks = SHAPES.iter().flat_map(in_three).chain(others);
    marks.flat_map(|mark| (0..3).flat_map(move |before| encoded(mark.as_bytes(), before)))
}

/// The marks of a shape, of three characters at least: what follows the shortest is a hexadecimal digit.
fn in_three(shape: &KeyShape) -> Vec<String> {
    match shape.mark.len() {
        0..3 => "0123456789abcdef".chars().map(|digit| format!("{}{digit}", shape.mark)).collect(),
        _ => vec![shape.mark.to_owned()],
    }
}

//! Every page, as somebody sees or hears it: names, headings, contrast, a phone's width, the order of the keyboard.

use serde_json::{Value, json};

use crate::webdriver::Browser;
use crate::world::{Served, pictures, populated};

/// Every page, with a name for its pictures.
const PAGES: &[(&str, &str)] = &[
    ("runs", "runs"),
    ("runs-none", "runs?q=nothing+like+it"),
    ("run-waits", "runs/2026-02-01-TIDY?details=1"),
    ("run-over", "runs/2026-01-11-DONE"),
    ("run-window", "runs/2026-02-01-TIDY?before=20"),
    ("inbox", "inbox"),
    ("batch", "inbox/batch?kind=destructive&category=filesystem_delete"),
    ("memory-projects", "memory"),
    ("memory", "memory/orchard?superseded=1"),
    ("memory-search", "memory/orchard?q=cache"),
    ("history-projects", "history"),
    ("history", "history/orchard"),
    ("history-none", "history/nobody"),
    ("profile-projects", "profile"),
    ("profile", "profile/orchard"),
    ("profile-none", "profile/harbour"),
    ("nothing-there", "nothing/here"),
];

/// Width, height, and whether it is dark.
const VIEWS: &[(&str, u32, u32, &str)] = &[
    ("desk", 1280, 900, "light"),
    ("desk-dark", 1280, 900, "dark"),
    ("phone", 360, 740, "light"),
    ("phone-dark", 360, 740, "dark"),
];

#[test]
fn every_page_can_be_used_by_everybody() {
    let Some(browser) = Browser::start() else { return };
    let home = populated();
    let served = Served::over(&home);
    browser.goto(&served.url);
    let mut faults: Vec<String> = Vec::new();
    for (view, width, height, scheme) in VIEWS {
        browser.view(*width, *height);
        browser.scheme(scheme);
        for (name, path) in PAGES {
            browser.goto(&served.page(path));
            // On a machine that is busy a page is there before its style.
            browser.until("[...document.styleSheets].some(sheet => sheet.cssRules.length > 0)");
            let found = browser.run(include_str!("checks.js"));
            let found = found.as_array().unwrap_or_else(|| panic!("{name}: {found}"));
            faults.extend(found.iter().map(|fault| format!("{name}, {view}: {fault}")));
            browser.picture(&pictures().join(format!("{name}-{view}.png")));
            // What is hostile on it did nothing but be read.
            let title = browser.run("return document.title");
            assert_ne!(title, "owned", "{name}");
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // It was there to be read.
    browser.scheme("light");
    browser.view(1280, 3200);
    browser.goto(&served.page("runs/2026-02-01-TIDY"));
    browser.picture(&pictures().join("run-waits-tall.png"));
    let text = browser.text();
    assert!(text.contains("<script>document.title='owned'</script>\\u{202e}"), "{text}");
    assert_eq!(browser.run("return document.querySelectorAll('img, #moments script').length"), json!(0));
}

/// Script that returns the element in focus: its id, its class or its text, whether it can be seen, and where.
const FOCUS: &str = "const one = document.activeElement; const style = getComputedStyle(one); \
    return [one.id || one.className || one.textContent.trim(), \
            style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1, \
            one === document.body]";

#[test]
fn everything_is_reached_by_keys_in_the_order_of_the_page() {
    let Some(browser) = Browser::start() else { return };
    let home = populated();
    let served = Served::over(&home);
    browser.goto(&served.url);
    browser.goto(&served.page("inbox"));
    const TAB: &str = "\u{e004}";
    let stops = browser.run(
        "return [...document.querySelectorAll('a[href], button, input, select, textarea, summary')].filter((one) => \
         one.getClientRects().length && !(one.type === 'radio' && one !== document.querySelector(`[name=choice]`))).length",
    );
    let stops = stops.as_u64().expect("a number");
    let mut seen: Vec<String> = Vec::new();
    let mut places: Vec<f64> = Vec::new();
    for stop in 0..stops {
        browser.press(&[TAB]);
        let focus = browser.run(FOCUS);
        if focus[2] == json!(true) {
            break;
        }
        assert_eq!(focus[1], json!(true), "the focus on {} can't be seen", focus[0]);
        seen.push(focus[0].as_str().unwrap_or_default().to_owned());
        let at = "const box = document.activeElement.getBoundingClientRect(); return box.top + window.scrollY";
        // The first is the way past the head of the page.
        if stop > 0 {
            places.push(browser.run(at).as_f64().expect("a place"));
        }
    }
    assert_eq!(seen[0], "skip");
    assert!(seen.len() > 10, "{seen:?}");
    let back = places.windows(2).filter(|pair| pair[1] < pair[0] - 40.0).count();
    assert_eq!(back, 0, "{seen:?} {places:?}");

    // The way past it leads somewhere.
    browser.goto(&served.page("runs"));
    browser.press(&[TAB, "\u{e007}"]);
    assert_eq!(browser.run("return document.activeElement.id"), json!("main"));
    // j and k go from run to run; a switch turns them off.
    browser.press(&["j", "j", "k"]);
    let first = browser.run("return document.activeElement === document.querySelectorAll('a.step')[0]");
    assert_eq!(first, json!(true));
    browser.press(&["/"]);
    assert_eq!(browser.run("return document.activeElement.id"), json!("q"));
    browser.press(&["j"]);
    assert_eq!(browser.run("return document.activeElement.value"), json!("j"), "typed, not taken");
    browser.click("#keys");
    browser.press(&["g", "i"]);
    assert!(browser.url().contains("/runs"));
    browser.click("#keys");
    browser.press(&["g", "i"]);
    browser.until("location.pathname.endsWith('/inbox')");
}

#[test]
fn without_its_script_a_page_can_be_read() {
    let Some(browser) = Browser::start() else { return };
    let home = populated();
    let served = Served::over(&home);
    browser.goto(&served.url);
    browser.goto(&served.page("runs/2026-02-01-TIDY"));
    // As the page stands before any script runs.
    let page = browser.run_async("fetch(location.href).then((page) => page.text()).then(done)");
    let page = page.as_str().expect("a page");
    for part in ["rm -r build", "I write the notes first.", "<noscript>", "class=\"add\"", "filesystem_delete"] {
        assert!(page.contains(part), "no {part}");
    }
    let shown: Value = browser.run(
        "document.documentElement.classList.remove('js'); \
        return [...document.querySelectorAll('.needs-script')].filter((one) => one.getClientRects().length).length",
    );
    assert_eq!(shown, json!(0), "what needs the script is not offered without it");
}

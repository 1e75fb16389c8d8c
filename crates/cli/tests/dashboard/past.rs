//! A profile is looked at, applied and removed in the browser.

use crate::home::TestHome;
use crate::webdriver::Browser;
use crate::world::{Served, profile};

#[test]
fn a_profile_is_applied_as_it_was_shown_and_removed_once_that_is_meant() {
    let Some(browser) = Browser::start() else { return };
    let home = TestHome::new();
    let path = "home/projects/orchard/learned.json";
    home.write(path, profile().to_string());
    let before = home.read(path);
    let served = Served::over(&home);
    browser.goto(&served.url);
    browser.goto(&served.page("profile"));
    browser.click("a.step");
    browser.until("document.querySelector('form.profile')");
    let text = browser.text();
    for part in ["detector destructive", "loose", "budget execute", "it is doing its job", "0.9 (0.62 to 0.98)"] {
        assert!(text.contains(part), "no {part}: {text}");
    }
    // What was applied since is not what was shown: the page is made anew, says so, and goes on from there.
    home.write(path, before.replace("11.5", "11"));
    browser.click("form.profile button[type=submit]");
    browser.until("document.querySelector('.came.refused').textContent.includes('not what was shown')");
    browser.click("form.profile button[type=submit]");
    browser.until("document.querySelector('.came:not(.refused)')?.textContent.startsWith('applied')");
    browser.until("document.activeElement === document.querySelector('.came')");
    browser.until("document.querySelector('form.profile button[type=submit]').textContent === 'Apply it again'");
    assert!(!home.read(path).contains("weighted_sample"), "what no run teaches any more is gone");

    browser.goto(&served.page("profile/orchard"));
    browser.click("#reset");
    browser.click("dialog button[value=no]");
    browser.until("!document.querySelector('dialog').open");
    assert!(home.path(path).exists());
    browser.click("#reset");
    browser.click("dialog button[value=reset]");
    browser.until("document.querySelector('.came').textContent.startsWith('removed')");
    browser.until("!document.getElementById('reset')");
    assert!(!home.path(path).exists());
}

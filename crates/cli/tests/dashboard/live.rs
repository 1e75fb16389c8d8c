//! Tests that the operator's acts in the browser reach the run, and that the run's events reach the browser.

use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, TestHome};
use crate::webdriver::Browser;
use crate::world::{Served, deleting, pictures};

/// The places of the moments on the page.
fn places(browser: &Browser) -> Vec<u64> {
    let found = browser.run("return [...document.querySelectorAll('.moment')].map((one) => Number(one.dataset.seq))");
    serde_json::from_value(found).expect("numbers")
}

fn events(home: &TestHome, run: &str, kind: &str) -> Vec<Value> {
    home.journal(run).into_iter().filter(|event| event["type"] == kind).collect()
}

/// The last line of a run's mailbox.
fn last_letter(home: &TestHome, run: &str) -> Value {
    let mailbox = home.read(&format!("home/sessions/{run}.mailbox.jsonl"));
    serde_json::from_str(mailbox.lines().last().expect("a line")).expect("JSON")
}

/// Chooses an answer in the one form of the page and sends it.
fn answer(browser: &Browser, choice: &str) {
    browser.until(&format!("document.querySelector('#questions input[value=\"{choice}\"]')"));
    browser.click(&format!("#questions input[value=\"{choice}\"]"));
    browser.click("#questions form.answer button[type=submit]");
}

#[test]
fn a_run_is_followed_answered_steered_and_stopped() {
    let Some(browser) = Browser::start() else { return };
    let home = TestHome::new();
    let step = |number: u32| json!(format!("Step {number} is done."));
    home.scripted("mode: gated", &json!([SUMMARY, step(1), step(2), step(3), step(4)]));
    let mut running = home.start(&["run", "../brief.md"]);
    running.until("Is this summary what you want?");
    let served = Served::over(&home);
    browser.goto(&served.url);
    browser.until("document.querySelector('a.step')");
    browser.click("a.step");
    assert_eq!(browser.url(), served.page(&format!("runs/{RUN}")));
    browser.until("document.querySelector('#status .state.waits')");

    // Answered in the page, the run goes on, and the page follows.
    answer(&browser, "accept");
    browser.until("document.querySelector('#moments').innerText.includes('Step 1 is done.')");
    browser.until("document.querySelector('#questions input[value=\"continue\"]')");
    let recorded = &events(&home, RUN, "answer")[0];
    assert_eq!((&recorded["whence"], &recorded["choice"]), (&json!("dashboard"), &json!("accept")));

    let asked = browser.run("return document.querySelector('#questions .question').id");
    browser.type_into("#steer", "mind the gap");
    browser.click("form.say button[value=steer]");
    browser.until("document.querySelector('form.say .came').textContent.includes('at its next turn')");
    // The question stands: what was said puts off no stop, and is told with the next step.
    browser.until(&format!("document.getElementById({asked})"));
    // Words that don't go with an answer are refused, and the form can be used again.
    browser.click("#questions input[value=\"continue\"]");
    browser.type_into("#questions textarea", "but slowly");
    browser.click("#questions form.answer button[type=submit]");
    browser.until("document.querySelector('#questions .came').textContent.includes('go with this answer')");
    browser.run("document.querySelector('#questions textarea').value = ''");
    browser.click("#questions form.answer button[type=submit]");
    browser.until("document.querySelector('#moments').innerText.includes('Step 2 is done.')");
    let told = events(&home, RUN, "message").into_iter().find(|event| event["kind"] == "steer").expect("it was told");
    assert!(told["text"].as_str().expect("text").contains("mind the gap"));

    // Not without being asked whether it is meant.
    browser.until("document.querySelectorAll('#questions input[value=continue]:not(:disabled)').length === 1");
    browser.click("#stop");
    browser.until("document.querySelector('#sure').open");
    browser.click("#sure button[value=no]");
    browser.until("!document.querySelector('#sure').open");
    assert!(events(&home, RUN, "operator_message").iter().all(|event| event["message"] != "stop"));
    browser.click("#stop");
    browser.click("#sure button[value=stop]");
    browser.until("document.querySelector('#status .state.stopped')");
    running.finish().expect_code(6);

    // Every event once, in order, whatever was there when the page was loaded and whatever came later.
    browser.until("document.querySelector('#follow').hidden");
    let recorded: Vec<u64> = home.journal(RUN).iter().map(|event| event["seq"].as_u64().expect("a number")).collect();
    assert_eq!(places(&browser), recorded);
    assert_eq!(served.interrupt(), Some(0));
}

#[test]
fn a_window_that_was_hidden_goes_on_where_it_was() {
    let Some(browser) = Browser::start() else { return };
    let home = TestHome::new();
    home.scripted("mode: gated", &json!([SUMMARY, "Step 1 is done.", "Step 2 is done.", "Step 3 is done."]));
    let mut running = home.start(&["run", "../brief.md"]);
    running.until("Is this summary what you want?");
    let served = Served::over(&home);
    browser.goto(&served.url);
    browser.goto(&served.page(&format!("runs/{RUN}")));
    browser.until("document.querySelector('#status .state.waits')");
    browser.click("#follow");
    browser.until("document.querySelector('#follow').getAttribute('aria-pressed') === 'false'");
    let before = places(&browser);
    running.type_line("go");
    running.until("Go on");
    // It was not followed, and nothing came.
    assert_eq!(places(&browser), before);
    browser.click("#follow");
    browser.until("document.querySelector('#moments').innerText.includes('Step 1 is done.')");
    browser.until("document.querySelector('#questions input[value=\"continue\"]')");
    let recorded: Vec<u64> = home.journal(RUN).iter().map(|event| event["seq"].as_u64().expect("a number")).collect();
    assert_eq!(places(&browser), recorded);
    browser.click("#pause");
    browser.until("document.querySelector('form.say .came').textContent.includes('it stands still')");
    running.until("says (dashboard): pause");
    running.finish().expect_code(130);
    browser.until("document.querySelector('#status').innerText.includes('Not running.')");
}

#[test]
fn many_questions_are_answered_together_once_all_acts_were_seen() {
    let Some(browser) = Browser::start() else { return };
    let home = TestHome::new();
    let runs = [1, 2].map(|number| deleting(&home, &format!("2026-02-0{number}-TIDY")));
    let served = Served::over(&home);
    browser.goto(&served.url);
    browser.goto(&served.page("inbox"));
    browser.click("a[href*='kind=destructive&category=filesystem_delete']");
    let text = browser.text();
    assert_eq!(text.matches("wants to run\n  rm -r build #").count(), 2, "{text}");
    browser.picture(&pictures().join("batch.png"));
    // What is asked after the page was shown is not answered by it.
    let later = deleting(&home, "2026-02-09-LATER");
    browser.click("input[value=deny]");
    browser.type_into("#t-all", "keep it");
    browser.click("form.answer button[type=submit]");
    browser.until("document.querySelector('.came').textContent.includes('2 of 2 answered')");
    for run in &runs {
        let line = last_letter(&home, run);
        assert_eq!(
            (&line["choice"], &line["text"], &line["whence"]),
            (&json!("deny"), &json!("keep it"), &json!("dashboard"))
        );
    }
    assert_eq!(last_letter(&home, &later)["kind"], "confirmation");
    home.run(&["work", "--once"]).expect_code(0);
    assert_eq!(events(&home, &runs[0], "answer").last().expect("one")["text"], "keep it");
    assert_eq!(home.read("work/build/a.o"), "x");
    // The page that was left open learns of it.
    browser.goto(&served.page("inbox"));
    browser.until("document.querySelectorAll('.question').length === 1");
    home.run(&["inbox", "answer", &later, "n"]).expect_code(0);
    browser.until("!document.querySelector('#changed').hidden");
}

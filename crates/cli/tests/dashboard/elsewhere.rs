//! A page of another origin, in the same browser and with the whole address known to it, can neither read nor act.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::home::TestHome;
use crate::webdriver::Browser;
use crate::world::{Served, deleting};

/// A server of somebody else's on this machine, which keeps what it is sent.
struct Elsewhere {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Elsewhere {
    fn serve(page: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = heads.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                // A browser opens connections ahead of what it asks for: none of them may keep another waiting.
                let (kept, page) = (kept.clone(), page.clone());
                std::thread::spawn(move || {
                    let mut head = String::new();
                    let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
                    while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
                    kept.lock().expect("no panic").push(head);
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n";
                    write!(stream, "{head}Content-Length: {}\r\n\r\n{page}", page.len()).ok();
                });
            }
        });
        Self { port, heads }
    }
}

/// Script of the attempts that a foreign page makes, with the outcome of each.
const TRIES: &str = r#"
const id = IDS, base = BASE, came = {};
const json = JSON.stringify({ids: [id], choice: "once"});
const body = (response) => response.text().then((text) => `${response.type} ${response.status} ${text.slice(0, 40)}`);
const tried = (name, promise) => promise.then((what) => { came[name] = what; }, () => { came[name] = "refused"; });
const loads = (name, make) => tried(name, new Promise((resolve) => {
  const one = make();
  one.onload = () => resolve("loaded");
  one.onerror = () => resolve("refused");
  document.body.append(one);
}));
const make = (tag, values) => Object.assign(document.createElement(tag), values);
Promise.all([
  tried("read", fetch(`${base}/inbox`, {credentials: "include"}).then(body)),
  tried("opaque", fetch(`${base}/inbox`, {credentials: "include", mode: "no-cors"}).then(body)),
  tried("act", fetch(`${base}/answer`, {method: "POST", credentials: "include", body: json,
    headers: {"content-type": "application/json", "x-adjutant-csrf": "x"}}).then(body)),
  tried("simple", fetch(`${base}/answer`, {method: "POST", credentials: "include", mode: "no-cors", body: json,
    headers: {"content-type": "text/plain"}}).then(body)),
  tried("beacon", Promise.resolve(String(navigator.sendBeacon(`${base}/answer`, json)))),
  loads("script", () => make("script", {src: `${base}/script.js`})),
  tried("stream", new Promise((resolve) => {
    const source = new EventSource(`${base}/runs/${id.split(":")[0]}/events`, {withCredentials: true});
    source.onopen = source.onmessage = () => resolve("opened");
    source.addEventListener("moment", () => resolve("read"));
    source.onerror = () => { source.close(); resolve("refused"); };
  })),
  tried("frame", new Promise((resolve) => {
    const frame = make("iframe", {src: `${base}/inbox`, name: "frame"});
    frame.onload = () => {
      let text = "refused";
      try { text = frame.contentDocument.body.innerText; } catch { text = "refused"; }
      resolve(text || "refused");
    };
    document.body.append(frame);
  })),
  tried("form", new Promise((resolve) => {
    const frame = make("iframe", {name: "into"});
    document.body.append(frame);
    const form = make("form", {method: "post", action: `${base}/answer`, target: "into", enctype: "text/plain"});
    form.append(make("input", {name: json.slice(0, -1) + ',"text":"', value: '"}'}));
    document.body.append(form);
    frame.onload = () => resolve("sent");
    form.submit();
    setTimeout(() => resolve("sent"), 2000);
  })),
]).then(() => done(came));
"#;

#[test]
fn a_page_of_another_origin_can_neither_read_nor_act() {
    let Some(browser) = Browser::start() else { return };
    let home = TestHome::new();
    let run = deleting(&home, "2026-02-01-TIDY");
    let mailbox = format!("home/sessions/{run}.mailbox.jsonl");
    let before = home.read(&mailbox);
    let listed = home.run(&["inbox", "list", "--json"]).expect_code(0);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let served = Served::over(&home);
    browser.goto(&served.url);
    browser.until("document.querySelector('a.step')");
    let base = served.page("");
    let base = base.trim_end_matches('/');
    let elsewhere = Elsewhere::serve("<!doctype html><title>elsewhere</title><body>".to_owned());
    // Another port of the same name is of another origin and of the same site: cookies alone would not stop it.
    for name in ["127.0.0.1", "localhost"] {
        browser.goto(&format!("http://{name}:{}/", elsewhere.port));
        let tries = TRIES.replace("IDS", &listed[0]["id"].to_string()).replace("BASE", &json!(base).to_string());
        let came = browser.run_async(&tries);
        for (what, expected) in [("read", "refused"), ("act", "refused"), ("stream", "refused"), ("script", "refused")]
        {
            assert_eq!(came[what], expected, "{name}, {what}: {came}");
        }
        for what in ["opaque", "simple"] {
            let seen = came[what].as_str().expect("text");
            assert!(seen == "refused" || seen.trim() == "opaque 0", "{name}, {what}: {came}");
        }
        let frame = came["frame"].as_str().expect("text");
        assert!(!frame.contains("rm -r build"), "{frame}");
        // The mark of a link that leads here: nothing is shown to who comes from elsewhere.
        browser.run(&format!("location.assign({})", json!(format!("{base}/inbox"))));
        browser.until("document.body.innerText.includes('from elsewhere')");
        assert!(!browser.text().contains("rm -r build"));
    }
    assert_eq!(home.read(&mailbox), before, "nothing was answered");
    // What else is served on this machine is not sent our cookie, though cookies know no ports.
    let heads = elsewhere.heads.lock().expect("no panic").join("\n");
    assert!(heads.contains("GET / ") && !heads.to_lowercase().contains("cookie:"), "{heads}");
    // The operator's own page still can.
    browser.goto(&served.page("inbox"));
    browser.click("input[value=deny]");
    browser.click("form.answer button[type=submit]");
    browser.until("document.querySelector('.came').textContent.includes('answered')");
    assert_ne!(home.read(&mailbox), before);
}

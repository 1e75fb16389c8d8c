//! A browser, driven over the WebDriver protocol: JSON over HTTP to a driver on this machine. As much of it as these
//! tests need, so that no client with its own HTTP stack is built for them.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The programs, and the Debian package that has each.
const PROGRAMS: [(&str, &str); 2] = [("chromium", "chromium"), ("chromedriver", "chromium-driver")];

/// Longest wait for a page to become as expected, in milliseconds. Only a failed test waits that long.
const WAIT_MS: u64 = 60_000;

/// The name by which the protocol marks an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser window of its own, with a profile of its own.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _profile: TempDir,
}

/// A driver that listens, with its port and what else it says; none if it ended at once.
fn started() -> Option<(Child, u16, BufReader<ChildStdout>)> {
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the driver starts");
    let mut said = BufReader::new(driver.stdout.take().expect("a pipe"));
    if let Some(port) = port_of(&mut said) {
        Some((driver, port, said))
    } else {
        driver.wait().ok();
        None
    }
}

/// The port that a driver says it listens on; none if it ends without a word of it.
fn port_of(said: &mut impl BufRead) -> Option<u16> {
    loop {
        let mut line = String::new();
        if said.read_line(&mut line).expect("readable") == 0 {
            return None;
        }
        let told = line.split_once("started successfully on port ").map(|(_, port)| port);
        if let Some(port) = told.and_then(|port| port.trim().trim_end_matches('.').parse().ok()) {
            return Some(port);
        }
    }
}

impl Browser {
    /// Starts one. `None`, with a word on what to install, where there is no browser and none is demanded.
    pub fn start() -> Option<Self> {
        let missing: Vec<&str> =
            PROGRAMS.iter().filter(|(program, _)| !is_on_path(program)).map(|(_, package)| *package).collect();
        if !missing.is_empty() {
            let said = format!("no browser to test the dashboard with: apt-get install {}", missing.join(" "));
            assert!(std::env::var_os("ADJUTANT_TEST_BROWSER").is_none(), "{said}");
            eprintln!("{said}");
            return None;
        }
        let profile = tempfile::Builder::new().prefix("adjutant-browser-").tempdir().expect("a folder");
        // Another driver may take the port between its choice and its use: then it ends, and another is begun.
        let (driver, port, mut said) = (0..5).find_map(|_| started()).expect("the driver stays");
        // Whatever else it says is read, so that it never waits for a reader.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        let mut browser = Self { driver, port, session: String::new(), _profile: profile };
        let mut args = vec![
            "--headless=new".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--no-first-run".to_owned(),
            "--window-size=1280,900".to_owned(),
            format!("--user-data-dir={}", browser._profile.path().display()),
        ];
        if rustix::process::getuid().is_root() {
            // Its own sandbox can't be set up by root.
            args.push("--no-sandbox".to_owned());
        }
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": {"args": args},
            "timeouts": {"script": WAIT_MS, "pageLoad": WAIT_MS, "implicit": 0},
        }}});
        let made = browser.ask("POST", "/session", &wanted);
        browser.session = format!("/session/{}", made["sessionId"].as_str().expect("a session"));
        Some(browser)
    }

    pub fn goto(&self, url: &str) {
        self.command("/url", &json!({ "url": url }));
    }

    pub fn url(&self) -> String {
        let url = self.ask("GET", &format!("{}/url", self.session), &Value::Null);
        url.as_str().expect("an address").to_owned()
    }

    /// Runs a script and returns its result.
    pub fn run(&self, script: &str) -> Value {
        self.command("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Runs a script and returns the value that it hands to `done`.
    pub fn run_async(&self, script: &str) -> Value {
        let script = format!("const done = arguments[arguments.length - 1]; {script}");
        self.command("/execute/async", &json!({ "script": script, "args": [] }))
    }

    /// Waits until an expression of the page is true, and gives it.
    #[track_caller]
    pub fn until(&self, condition: &str) -> Value {
        let body = format!(
            "const begun = Date.now(); const look = () => {{ let is = false; try {{ is = ({condition}); }} catch {{}} \
             if (is) done({{is}}); else if (Date.now() - begun > {}) done(null); else setTimeout(look, 20); }}; look();",
            WAIT_MS - 5_000
        );
        let found = self.look(&body);
        assert!(!found.is_null(), "never came: {condition}\n{}", self.text());
        found["is"].clone()
    }

    /// Runs a script that only looks: if the page is loaded anew meanwhile, which ends what runs on it, it looks again.
    fn look(&self, script: &str) -> Value {
        const PAGES_MAX: usize = 5;
        let script = format!("const done = arguments[arguments.length - 1]; {script}");
        let body = json!({ "script": script, "args": [] });
        for _ in 0..PAGES_MAX {
            let (status, answer) = request(self.port, "POST", &format!("{}/execute/async", self.session), &body);
            if status == 200 {
                let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|_| panic!("no JSON: {answer}"));
                return answer["value"].clone();
            }
        }
        panic!("the page is loaded again and again, or the browser is gone: {}", self.text());
    }

    /// The text of the page.
    pub fn text(&self) -> String {
        self.run("return document.body.innerText").as_str().unwrap_or_default().to_owned()
    }

    fn element(&self, selector: &str) -> String {
        let found = self.command("/element", &json!({"using": "css selector", "value": selector}));
        let id = found[ELEMENT].as_str();
        id.unwrap_or_else(|| panic!("no `{selector}` on\n{}", self.text())).to_owned()
    }

    pub fn click(&self, selector: &str) {
        let element = self.element(selector);
        self.command(&format!("/element/{element}/click"), &json!({}));
    }

    pub fn type_into(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.command(&format!("/element/{element}/value"), &json!({ "text": text }));
    }

    /// Presses keys where the focus is.
    pub fn press(&self, keys: &[&str]) {
        let each = |key: &&str| [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})];
        let actions: Vec<Value> = keys.iter().flat_map(each).collect();
        self.command("/actions", &json!({"actions": [{"type": "key", "id": "keys", "actions": actions}]}));
    }

    /// A view of so many pixels, as a phone has it below 500.
    pub fn view(&self, width: u32, height: u32) {
        let is_phone = width < 500;
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone});
        self.cdp("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// `light` or `dark`.
    pub fn scheme(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.cdp("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    fn cdp(&self, command: &str, params: Value) {
        self.command("/goog/cdp/execute", &json!({"cmd": command, "params": params}));
    }

    /// Keeps a picture of the window.
    pub fn picture(&self, path: &Path) {
        let picture = self.ask("GET", &format!("{}/screenshot", self.session), &Value::Null);
        std::fs::write(path, base64(picture.as_str().expect("a picture"))).expect("written");
    }

    fn command(&self, path: &str, body: &Value) -> Value {
        self.ask("POST", &format!("{}{path}", self.session), body)
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = request(self.port, method, path, body);
        let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|_| panic!("no JSON: {answer}"));
        assert_eq!(status, 200, "{method} {path} {body}: {}", answer["value"]["message"]);
        answer["value"].clone()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends the browser; without it the driver would leave it behind.
        if !self.session.is_empty() {
            std::panic::catch_unwind(|| request(self.port, "DELETE", &self.session, &Value::Null)).ok();
        }
        self.driver.kill().ok();
        self.driver.wait().ok();
    }
}

fn request(port: u16, method: &str, path: &str, body: &Value) -> (u16, String) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the driver listens");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).expect("sent");
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).expect("a status");
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{line}"));
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a header");
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut answer = vec![0; length];
    reader.read_exact(&mut answer).expect("a body");
    (status, String::from_utf8(answer).expect("text"))
}

fn is_on_path(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|at| at.join(program).is_file()))
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut held, mut bits) = (0_u32, 0);
    for digit in text.bytes().filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte)) {
        held = (held << 6) | u32::try_from(digit).expect("six bits");
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((held >> bits) & 0xff).expect("eight bits"));
        }
    }
    bytes
}

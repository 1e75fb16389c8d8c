//! A home with runs written event by event, and requests without a network.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use adjutant_core::trace::{AskEvent, Body, Entry, HostEvent, RunEvent, RunOptions, RunStart, TRACE_VERSION, Versions};
use adjutant_core::words::id::RunId;
use adjutant_core::words::{Choice, Offer, Part, Question, QuestionKind, Slot, What};
use adjutant_ports::{Durability, Journal as _};
use adjutant_serve::dashboard::Dashboard;
use adjutant_store::{FileJournal, Home, Owner};
use axum::Router;
use axum::body::Body as Content;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use jiff::Timestamp;
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt as _;

/// Text that would be markup, drive a terminal, or turn writing around.
pub const HOSTILE: &str = "</pre><script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u{202e}\u{1b}[2J";

/// A home, the dashboard over it, and a browser that was let in or not.
pub struct World {
    pub folder: TempDir,
    pub home: Home,
    router: Router,
    /// `127.0.0.1:PORT`.
    pub host: String,
    /// Prefix of all paths.
    pub base: String,
    token: String,
    pub cookie: Option<String>,
    pub csrf: String,
}

/// The response.
pub struct Got {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl World {
    /// A dashboard that nobody was let into.
    pub async fn closed() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::new(folder.path(), None);
        let dashboard = Dashboard::bind(home.clone(), BTreeMap::new(), 0).await.expect("a port");
        let url = dashboard.url();
        let (origin, rest) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("an address");
        let (base, token) = rest.split_once("/open?token=").expect("a token");
        Self {
            router: dashboard.router(),
            host: origin.to_owned(),
            base: format!("/{base}"),
            token: token.to_owned(),
            folder,
            home,
            cookie: None,
            csrf: String::new(),
        }
    }

    /// One with a browser in it.
    pub async fn open() -> Self {
        let mut world = Self::closed().await;
        let got = world.send(world.request(Method::GET, &world.opening())).await;
        assert_eq!(got.status, StatusCode::SEE_OTHER, "{}", got.text);
        let cookie = got.headers["set-cookie"].to_str().expect("text").to_owned();
        world.cookie = cookie.split(';').next().map(str::to_owned);
        let page = world.get("/runs").await;
        let csrf = page.text.split("name=\"csrf\" content=\"").nth(1).and_then(|rest| rest.split('"').next());
        world.csrf = csrf.expect("a token on the page").to_owned();
        world
    }

    /// The path that lets a browser in.
    pub fn opening(&self) -> String {
        format!("{}/open?token={}", self.base, self.token)
    }

    /// A request as a browser makes it whose address was typed.
    pub fn request(&self, method: Method, path: &str) -> Request<Content> {
        let mut request = Request::builder().method(method).uri(path).header("host", &self.host);
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", cookie);
        }
        request.header("sec-fetch-site", "none").body(Content::empty()).expect("a request")
    }

    /// A request of one of our pages that changes something.
    pub fn act(&self, path: &str, body: &Value) -> Request<Content> {
        let mut request = self.request(Method::POST, &format!("{}{path}", self.base));
        *request.body_mut() = Content::from(body.to_string());
        for (name, value) in [
            ("content-type", "application/json".to_owned()),
            ("origin", format!("http://{}", self.host)),
            ("sec-fetch-site", "same-origin".to_owned()),
            ("x-adjutant-csrf", self.csrf.clone()),
        ] {
            set(&mut request, name, &value);
        }
        request
    }

    pub async fn get(&self, path: &str) -> Got {
        self.send(self.request(Method::GET, &format!("{}{path}", self.base))).await
    }

    pub async fn send(&self, request: Request<Content>) -> Got {
        let response = self.raw(request).await;
        let (head, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, 64 << 20).await.expect("a body");
        Got { status: head.status, headers: head.headers, text: String::from_utf8(bytes.to_vec()).expect("text") }
    }

    pub async fn raw(&self, request: Request<Content>) -> axum::response::Response {
        self.router.clone().oneshot(request).await.expect("always a response")
    }

    /// A run with these events after its start.
    pub fn run(&self, id: &str, project: &str, brief: &str, more: Vec<Body>) -> FileJournal {
        static SECOND: AtomicUsize = AtomicUsize::new(0);
        let second = i64::try_from(SECOND.fetch_add(1, Ordering::Relaxed)).expect("few");
        let at = Timestamp::from_second(1_790_000_000 + second).expect("a time");
        self.run_at(id, project, brief, at, more)
    }

    /// The same at a time.
    pub fn run_at(&self, id: &str, project: &str, brief: &str, at: Timestamp, more: Vec<Body>) -> FileJournal {
        let brief_id = id.parse().expect("a name");
        let (run_id, mut journal) =
            FileJournal::create_next(&self.home, &brief_id, &Owner::current(), Timestamp::now()).expect("created");
        let start = RunStart {
            run_id,
            brief_id,
            project: project.to_owned(),
            brief_path: None,
            brief: brief.to_owned(),
            tools: Vec::new(),
            offered: None,
            options: RunOptions::default(),
            versions: Versions { adjutant: "0".into(), standing_orders: 1, rules: 0 },
        };
        let header = Body::Run(RunEvent::TraceVersion {
            version: TRACE_VERSION,
            adjutant_version: "0".into(),
            brief_id: id.into(),
        });
        for body in [header, Body::Run(RunEvent::RunStart(Box::new(start)))].into_iter().chain(more) {
            journal.append(Entry { part: Part::root(), body }, at, Durability::Written).expect("appended");
        }
        journal
    }

    /// A run with two questions open at once, each of its own part. Returns their ids.
    pub fn run_of_two_voters(&self, id: &str) -> [String; 2] {
        let mut journal = self.run(id, "orchard", "b", Vec::new());
        let ids = [1, 2].map(|voter: u32| {
            let part = Part::root().child("council").child(&voter.to_string());
            let entry = Entry { part: part.clone(), body: may_delete(1, &format!("May voter {voter}?")) };
            journal.append(entry, Timestamp::now(), Durability::Written).expect("appended");
            format!("{id}:{part}:ask/1.1")
        });
        journal.close().expect("closed");
        ids
    }

    /// The lines of a run's mailbox.
    pub fn letters(&self, run: &str) -> Vec<Value> {
        let run_id: RunId = run.parse().expect("a name");
        let text = fs::read_to_string(self.home.mailbox(&run_id)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

/// Puts a header in the place of what was there.
pub fn set(request: &mut Request<Content>, name: &'static str, value: &str) {
    request.headers_mut().insert(name, value.parse().expect("a value"));
}

/// A question whether something may be deleted.
pub fn may_delete(number: u32, text: &str) -> Body {
    let options = vec![
        Offer::new(Choice::Once, "y", "yes, this once"),
        Offer::new(Choice::ForRun, "category", HOSTILE),
        Offer::new(Choice::Deny, "n", "no"),
    ];
    let question = Question {
        kind: QuestionKind::Destructive,
        text: text.to_owned(),
        options,
        default: Choice::Deny,
        deadline_ms: None,
        acts: 0,
    };
    Body::Ask(AskEvent::Question { slot: Slot::first(What::Ask, number), question })
}

pub fn warning(text: &str) -> Body {
    Body::Host(HostEvent::Warning { text: text.to_owned() })
}

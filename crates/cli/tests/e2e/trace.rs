//! `adjutant trace`: what was recorded is verified, put up for others, and removed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::{Value, json};

use crate::home::{ROOT, Said, TestHome, copy};
use crate::loopback;

const RUN: &str = "2026-01-15-FIRST";

/// Words of the brief, the agent and the tools of the example, none of which may leave with structure alone.
const CONTENT: [&str; 3] = ["Confirmation Summary", "# Objective", "standing orders"];

/// A home in which the example was run to its end.
fn ran() -> TestHome {
    let home = TestHome::with_examples();
    let example = |file: &str| home.path(&format!("examples/first-run/{file}")).display().to_string();
    let (brief, project, answers) = (example("brief.md"), example("project"), example("answers.yaml"));
    home.run(&["run", &brief, "--workdir", &project, "--copy", "--answers", &answers]).expect_code(0);
    home
}

fn spans(request: &ExportTraceServiceRequest) -> Vec<&Span> {
    request.resource_spans.iter().flat_map(|resource| &resource.scope_spans).flat_map(|scope| &scope.spans).collect()
}

/// The traces of the run by their official types, from JSON.
fn exported(home: &TestHome, more: &[&str]) -> (String, ExportTraceServiceRequest) {
    let args = [&["trace", "export", RUN, "--format", "otlp-json"], more].concat();
    let json = home.run(&args).expect_code(0).stdout;
    let request = serde_json::from_str(&json).expect("the official types read it");
    (json, request)
}

#[test]
fn a_run_is_whole_until_a_byte_of_it_changes() {
    let home = ran();
    let whole = home.run(&["trace", "verify", RUN]).expect_code(0);
    assert!(whole.stdout.contains(": whole: ") && whole.stdout.contains("its lease says"), "{}", whole.stdout);
    home.run(&["trace", "verify", "--all"]).expect_code(0).expect_text("1 verified, 0 not whole");
    home.run(&["trace", "verify"]).expect_code(2);

    let path = home.journal_path(RUN);
    let good = fs::read(&path).expect("a journal");
    let lines: Vec<&[u8]> = good.split_inclusive(|byte| *byte == b'\n').collect();
    let put = |lines: &[&[u8]]| fs::write(&path, lines.concat()).expect("written");
    let found = || -> Vec<(u64, String)> {
        let said = home.run(&["trace", "verify", RUN, "--json"]).expect_code(1).stdout;
        let report: Value = serde_json::from_str(&said).expect("JSON");
        assert_eq!(report["verdict"], "not_whole");
        let findings = report["findings"].as_array().expect("findings").iter();
        let faults = findings.filter(|finding| finding["is_fault"] == true);
        faults.map(|f| (f["line"].as_u64().unwrap_or(0), f["kind"].as_str().unwrap_or("").to_owned())).collect()
    };
    put(&[&lines[..4], &lines[5..]].concat());
    assert_eq!(found()[0], (5, "gap".to_owned()));
    put(&lines[..lines.len() - 2]);
    assert_eq!(found().last().map(|(_, kind)| kind.as_str()), Some("lines_missing"));
    let mut changed = lines.clone();
    let other = [b"{\"type\":\"x\"}".as_slice(), b"\n"].concat();
    changed[6] = &other;
    put(&changed);
    assert_eq!(found()[0].0, 7);
    home.run(&["trace", "verify", "--all"]).expect_code(1).expect_text("1 not whole").expect_text("line 7");
    fs::write(&path, [&good, &b"{\"seq\":"[..]].concat()).expect("written");
    assert_eq!(found(), [(lines.len() as u64 + 1, "torn_tail".to_owned())]);
    fs::write(&path, &good).expect("written");
    home.run(&["trace", "verify", RUN]).expect_code(0);
}

#[test]
fn of_a_trace_of_the_peer_nothing_is_proven() {
    let home = TestHome::new();
    copy(&Path::new(ROOT).join("tests/vectors/openwar/inspect/input-inspect"), &home.path("home"));
    home.run(&["trace", "verify", "2024-04-05-ALL"]).expect_code(1).expect_text("line 21: it can't be read");
    let trace = home.read("home/sessions/2024-04-05-ALL.trace.ndjson");
    let good: String =
        trace.lines().enumerate().filter(|(at, _)| *at != 20).map(|(_, line)| format!("{line}\n")).collect();
    home.write("home/sessions/2024-04-05-ALL.trace.ndjson", good);
    home.run(&["trace", "verify", "2024-04-05-ALL"]).expect_code(0).expect_text("nothing can be proven");
    let redacted = home.run(&["trace", "export", "2024-04-05-ALL", "--redact"]).expect_code(0).stdout;
    assert!(redacted.contains("phase_enter") && redacted.contains("[redacted: "), "{redacted}");
    home.run(&["trace", "export", "2024-04-05-ALL", "--format", "otlp-json"]).expect_code(2);
}

#[test]
fn lines_are_exported_as_they_are_or_without_content() {
    let home = ran();
    let journal = fs::read_to_string(home.journal_path(RUN)).expect("a journal");
    assert_eq!(home.run(&["trace", "export", RUN]).expect_code(0).stdout, journal);
    let redacted = home.run(&["trace", "export", RUN, "--redact"]).expect_code(0).stdout;
    assert_eq!(redacted.lines().count(), journal.lines().count());
    for content in CONTENT.into_iter().chain([home.path("").to_str().expect("a path")]) {
        assert!(!redacted.contains(content), "{content}");
    }
    for (redacted, line) in redacted.lines().zip(journal.lines()) {
        let (redacted, line): (Value, Value) =
            (serde_json::from_str(redacted).expect("JSON"), serde_json::from_str(line).expect("JSON"));
        for key in ["seq", "at", "type", "part", "slot", "prev", "usage", "duration_ms"] {
            assert_eq!(redacted.get(key), line.get(key));
        }
    }
    let file = home.path("lines.ndjson").display().to_string();
    home.run(&["trace", "export", RUN, "--redact", "--output", &file]).expect_code(0);
    assert_eq!(home.read("lines.ndjson"), redacted);
    home.run(&["trace", "export", RUN, "--output", &file]).expect_code(2).expect_text("is there already");
}

#[test]
fn what_does_not_go_together_is_wrong_usage() {
    let home = TestHome::new();
    for (args, said) in [
        (&["--format", "otlp-json", "--redact"][..], "is for lines and packs"),
        (&["--with-content"], "is for traces"),
        (&["--endpoint", "http://localhost:1"], "is for traces"),
        (&["--format", "otlp-grpc"], "needs an `--endpoint`"),
        (&["--format", "pack"], "needs an `--output`"),
    ] {
        home.run(&[&["trace", "export", RUN], args].concat()).expect_code(2).expect_text(said);
    }
    let home = ran();
    for endpoint in ["localhost:4318", "http://user:word@localhost:4318", "file:///x"] {
        home.run(&["trace", "export", RUN, "--format", "otlp-json", "--endpoint", endpoint]).expect_code(2);
    }
    // Nobody listens there.
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let endpoint = format!("http://{free}");
    for format in ["otlp-json", "otlp-grpc"] {
        let said = home.run(&["trace", "export", RUN, "--format", format, "--endpoint", &endpoint]).expect_code(1);
        assert!(said.stderr.contains("does a collector listen there"), "{}", said.stderr);
    }
}

#[test]
fn traces_are_what_the_official_types_read_and_the_same_each_time() {
    let home = ran();
    let (json, request) = exported(&home, &[]);
    assert_eq!(exported(&home, &[]).0, json);
    assert_eq!(request.resource_spans.len(), 1);
    let spans = spans(&request);
    let by_id: BTreeMap<&[u8], &Span> = spans.iter().map(|span| (&*span.span_id, *span)).collect();
    assert_eq!(by_id.len(), spans.len());
    let traces: BTreeSet<&[u8]> = spans.iter().map(|span| &*span.trace_id).collect();
    assert!(traces.len() == 1 && spans.iter().all(|span| span.trace_id.len() == 16 && span.span_id.len() == 8));
    for span in &spans {
        assert!(0 < span.start_time_unix_nano && span.start_time_unix_nano <= span.end_time_unix_nano);
        if let Some(parent) = (!span.parent_span_id.is_empty()).then(|| by_id[&*span.parent_span_id]) {
            assert!(parent.start_time_unix_nano <= span.start_time_unix_nano);
            assert!(span.end_time_unix_nano <= parent.end_time_unix_nano);
        }
    }
    for (name, kind) in [("invoke_agent ", 1), ("chat scripted", 3), ("execute_tool apply_patch", 1)] {
        assert!(spans.iter().any(|span| span.name.starts_with(name) && span.kind == kind), "{name}");
    }
    for event in ["adjutant.phase_enter", "adjutant.gate_decision", "adjutant.detector_fired"] {
        assert!(spans.iter().any(|span| span.events.iter().any(|found| found.name == event)), "{event}");
    }
    // The mapping to JSON: ids in hexadecimal digits, 64 bits as text, enumerations as numbers.
    let raw: Value = serde_json::from_str(&json).expect("JSON");
    let first = &raw["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!(first["traceId"].as_str().map(str::len), Some(32));
    assert!(first["startTimeUnixNano"].is_string() && first["kind"].is_u64());
    assert!(json.contains(r#"{"intValue":""#) && !json.contains(r#""intValue":1"#));
    for content in CONTENT {
        assert!(!json.contains(content), "{content}");
    }
    assert!(exported(&home, &["--with-content"]).0.contains(CONTENT[0]));
}

/// Headers that a collector wants, as OpenTelemetry's exporters take them from the environment.
const HEADERS: &str = "Authorization=Bearer%20sesame";

fn with_headers(home: &TestHome, args: &[&str], headers: &str) -> Said {
    let mut command = home.adjutant(args);
    Said::of(&command.env("OTEL_EXPORTER_OTLP_HEADERS", headers).output().expect("it starts"))
}

#[test]
fn a_collector_gets_the_same_over_http() {
    let home = ran();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
    let (send, received) = mpsc::channel();
    std::thread::spawn(move || {
        let answers = [
            ("200 OK", "{}"),
            ("200 OK", r#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}"#),
            ("503 Service Unavailable", "full"),
            ("307 Temporary Redirect\r\nlocation: /elsewhere", ""),
            ("200 OK", "<html>log in first</html>"),
        ];
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().expect("a connection");
            send.send(loopback::request(&stream)).expect("somebody waits");
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            stream.write_all(answer.as_bytes()).expect("it reads");
        }
    });
    let args = ["trace", "export", RUN, "--format", "otlp-json", "--endpoint", &endpoint];
    with_headers(&home, &args, HEADERS).expect_code(0).expect_text("spans were taken");
    let (head, body) = received.recv().expect("a request");
    assert!(head.starts_with("POST /v1/traces HTTP/1.1") && head.contains("content-type: application/json"), "{head}");
    assert!(head.contains("\r\nauthorization: Bearer sesame\r\n"), "{head}");
    let sent: ExportTraceServiceRequest = serde_json::from_value(body).expect("the official types read it");
    assert_eq!(sent, exported(&home, &[]).1);
    home.run(&args).expect_code(1).expect_text("refused 2 spans: too old");
    home.run(&args).expect_code(1).expect_text("status 503: full");
    home.run(&args).expect_code(1).expect_text("status 307");
    home.run(&args).expect_code(1).expect_text("no answer of a collector: <html>");
    let said = with_headers(&home, &args, "authorization:sesame");
    assert!(!said.expect_code(2).expect_text("entry 1 has no `=`").stderr.contains("sesame"));
}

/// A server of gRPC that keeps what it gets and answers with `status`.
fn grpc_server(
    statuses: Vec<(&'static str, &'static str)>,
) -> (String, mpsc::Receiver<(http::request::Parts, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("it can wait");
    let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
    let (send, received) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            for (status, message) in statuses {
                let (stream, _) = listener.accept().await.expect("a connection");
                let mut connection = h2::server::handshake(stream).await.expect("HTTP/2");
                while let Some(request) = connection.accept().await {
                    let Ok((request, mut respond)) = request else { break };
                    let send = send.clone();
                    tokio::spawn(async move {
                        let (parts, mut body) = request.into_parts();
                        let mut bytes = Vec::new();
                        while let Some(data) = body.data().await {
                            let data = data.expect("data");
                            body.flow_control().release_capacity(data.len()).expect("room");
                            bytes.extend_from_slice(&data);
                        }
                        assert_eq!(parts.headers["te"], "trailers");
                        assert_eq!(parts.headers["content-type"], "application/grpc");
                        let head = http::Response::builder().header("content-type", "application/grpc");
                        let mut stream = respond.send_response(head.body(()).expect("a head"), false).expect("sent");
                        if status == "0" {
                            stream.send_data(vec![0; 5].into(), false).expect("sent");
                        }
                        let mut trailers = http::HeaderMap::new();
                        if !status.is_empty() {
                            trailers.insert("grpc-status", status.parse().expect("a value"));
                            trailers.insert("grpc-message", message.parse().expect("a value"));
                        }
                        stream.send_trailers(trailers).expect("sent");
                        send.send((parts, bytes)).expect("somebody waits");
                    });
                }
            }
        });
    });
    (endpoint, received)
}

#[test]
fn a_collector_gets_the_same_over_grpc() {
    let home = ran();
    let (endpoint, received) = grpc_server(vec![("0", ""), ("8", "too%20much"), ("", "")]);
    let args = ["trace", "export", RUN, "--format", "otlp-grpc", "--endpoint", &endpoint];
    with_headers(&home, &args, HEADERS).expect_code(0).expect_text("spans were taken");
    let (head, frame) = received.recv().expect("a request");
    assert_eq!(head.headers["authorization"], "Bearer sesame");
    assert_eq!(head.uri.path(), "/opentelemetry.proto.collector.trace.v1.TraceService/Export");
    let length = u32::from_be_bytes(frame[1..5].try_into().expect("four bytes"));
    assert_eq!((frame[0], length as usize), (0, frame.len() - 5));
    let sent = ExportTraceServiceRequest::decode(&frame[5..]).expect("the official types read it");
    assert_eq!(sent, exported(&home, &[]).1);
    home.run(&args).expect_code(1).expect_text("gRPC status 8 (RESOURCE_EXHAUSTED): too much");
    home.run(&args).expect_code(1).expect_text("gives no `grpc-status`");
}

#[test]
fn a_pack_is_verified_where_there_is_no_home_and_by_python() {
    let home = ran();
    let journal = fs::read(home.journal_path(RUN)).expect("a journal");
    for (name, more) in [("whole", &[][..]), ("redacted", &["--redact"])] {
        let tar = home.path(&format!("{name}.tar")).display().to_string();
        let folder = home.path(name).display().to_string() + "/";
        let made = |output: &str| {
            let said = home.run(&[&["trace", "export", RUN, "--format", "pack", "--output", output], more].concat());
            let said = said.expect_code(0).expect_text("SHA-256 of its manifest: ").stderr;
            said.lines().find_map(|line| line.strip_prefix("SHA-256 of its manifest: ")).expect("a hash").to_owned()
        };
        let hash = made(&tar);
        assert_eq!(made(&folder), hash);
        for pack in [&tar, &folder] {
            let said = home.run(&["--home", "/nonexistent", "trace", "verify", "--pack", pack]).expect_code(0);
            assert!(said.stdout.contains(": whole: ") && said.stdout.contains(&hash), "{}", said.stdout);
        }
        let python = |expected: i32| {
            // One script of a pack checks any other.
            let script = if name == "whole" { home.path(name) } else { home.path("whole") }.join("verify.py");
            let output = Command::new("python3").arg("-I").arg(script).arg(home.path(name)).output();
            // Whoever has no Python has the program.
            let Ok(output) = output else { return eprintln!("there is no python3: verify.py is not tried") };
            let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(expected), "{said}");
        };
        python(0);
        let path = home.path(name).join("journal.ndjson");
        let packed = fs::read(&path).expect("a journal");
        assert_eq!(packed == journal, name == "whole");
        let at = memchr_of(&packed, b"\"seq\":3");
        fs::write(&path, [&packed[..at], b"\"seq\":4", &packed[at + 7..]].concat()).expect("written");
        python(1);
        home.run(&["trace", "verify", "--pack", &folder]).expect_code(1).expect_text("journal.ndjson` is not what");
        fs::write(&path, &packed).expect("written");
        python(0);
        fs::create_dir(home.path(name).join("empty")).expect("a folder");
        python(1);
        fs::remove_dir(home.path(name).join("empty")).expect("removed");
        let manifest = home.path(name).join("MANIFEST.json");
        let text = fs::read_to_string(&manifest).expect("a manifest");
        let another = text.replacen(&format!("\"run\": \"{RUN}\""), "\"run\": \"2026-01-15-OTHER\"", 1);
        for changed in [another, text.replacen("\"faults\": 0", "\"faults\": 3", 1)] {
            assert_ne!(changed, text, "something was changed in {text}");
            fs::write(&manifest, changed).expect("written");
            python(1);
            home.run(&["trace", "verify", "--pack", &folder]).expect_code(1);
        }
        // What readers may disagree on is no manifest.
        let twice = text.replacen("\"version\"", "\"version\": 1,\n  \"version\"", 1);
        for changed in [twice, "[".repeat(100_000), text.replacen("\"VERIFY.md\"", "\"other\"", 1)] {
            fs::write(&manifest, changed).expect("written");
            python(1);
            home.run(&["trace", "verify", "--pack", &folder]).expect_code(1);
        }
        fs::write(&manifest, &text).expect("written");
        fs::rename(&manifest, home.path("manifest")).expect("moved");
        std::os::unix::fs::symlink(home.path("manifest"), &manifest).expect("a link");
        python(1);
        home.run(&["trace", "verify", "--pack", &folder]).expect_code(1);
        fs::remove_file(&manifest).expect("removed");
        fs::rename(home.path("manifest"), &manifest).expect("moved");
        python(0);
        fs::write(home.path(name).join("more"), "x").expect("written");
        python(1);
        home.run(&["trace", "verify", "--pack", &folder]).expect_code(1).expect_text("was added");
    }
}

fn memchr_of(bytes: &[u8], needle: &[u8]) -> usize {
    bytes.windows(needle.len()).position(|window| window == needle).expect("it is there")
}

#[test]
fn a_journal_under_another_name_is_not_whole() {
    let home = ran();
    fs::copy(home.journal_path(RUN), home.journal_path("2026-01-15-COPY")).expect("copied");
    home.run(&["trace", "verify", "2026-01-15-COPY"]).expect_code(1).expect_text(&format!("it is of the run `{RUN}`"));
    home.run(&["trace", "verify", RUN]).expect_code(0);
    rustix::fs::mknodat(rustix::fs::CWD, home.path("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .expect("a pipe");
    let pipe = home.path("pipe").display().to_string();
    // In the place of a journal a pipe is not waited for, and a link not followed.
    let journal = home.journal_path(RUN);
    fs::rename(&journal, home.path("away")).expect("moved");
    for is_link in [false, true] {
        if is_link {
            std::os::unix::fs::symlink(home.path("away"), &journal).expect("a link");
        } else {
            fs::rename(home.path("pipe"), &journal).expect("moved");
        }
        for format in ["ndjson", "otlp-json"] {
            let said = home.run(&["trace", "export", RUN, "--format", format]);
            assert!(said.expect_code(1).stdout.is_empty(), "{format}");
        }
        fs::rename(&journal, home.path("pipe")).expect("moved");
    }
    // A journal whose end is gone is written, and what nobody could see in it is said.
    let whole = fs::read_to_string(home.path("away")).expect("read");
    let cut: String = whole.split_inclusive('\n').take(whole.lines().count() - 1).collect();
    fs::write(&journal, cut).expect("written");
    for format in ["ndjson", "otlp-json"] {
        home.run(&["trace", "export", RUN, "--format", format, "--output", "-"])
            .expect_code(0)
            .expect_text("not whole");
    }
    fs::remove_file(home.path("pipe")).expect("removed");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
    home.run(&["trace", "verify", "--pack", &pipe]).expect_code(1).expect_text("neither a file nor a folder");
    home.run(&["trace", "verify", "--json"]).expect_code(2);
    home.run(&["trace", "verify", RUN, "--all"]).expect_code(2);
    home.run(&["trace", "verify", "--all", "--pack", &pipe]).expect_code(2);
    for lonely in ["--yes", "--json", "--peer", "--dry-run"] {
        home.run(&["trace", "prune", lonely]).expect_code(2);
    }
}

#[test]
fn what_has_ended_and_is_old_goes_and_nothing_else() {
    let home = ran();
    let brief = home.path("examples/first-run/brief.md").display().to_string();
    let project = home.path("examples/first-run/project").display().to_string();
    home.run(&["run", &brief, "--workdir", &project, "--copy"]).expect_code(4);
    let waiting = format!("{RUN}-r2");
    let before = home.journal(&waiting);

    home.run(&["trace", "prune"]).expect_code(2);
    home.run(&["trace", "prune", "--older-than", "1"]).expect_code(0).expect_text("nothing to remove");
    home.run(&["trace", "prune", "--keep-bytes", "1G"]).expect_code(0).expect_text("nothing to remove");
    home.run(&["trace", "prune", "--older-than", "0", "--dry-run"]).expect_code(0).expect_text("1 to remove");
    home.run(&["trace", "prune", "--older-than", "0"]).expect_code(4).expect_text("give --yes");
    assert!(home.journal_path(RUN).exists());
    let said = home.run(&["trace", "prune", "--keep-bytes", "0", "--yes", "--json"]).expect_code(0).stdout;
    let said: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!((&said["runs"][0]["name"], &said["runs"][0]["removed"]), (&RUN.into(), &true.into()));
    assert_eq!(said["kept"][0]["name"], waiting.as_str());
    assert!(said["runs"][0]["rescues"].as_u64() > Some(0), "{said}");

    let left: BTreeSet<String> = crate::home::files(&home.path("home/sessions")).into_keys().collect();
    assert!(left.contains(&format!("{RUN}.pruned")) && !left.contains(&format!("{RUN}.lease")), "{left:?}");
    assert!(!home.path(&format!("home/rescue/{RUN}")).exists());
    assert_eq!(home.journal(&waiting), before);
    home.run(&["trace", "verify", "--all"]).expect_code(0).expect_text("1 verified, 0 not whole");
    home.run(&["resume", &format!("{RUN}-r1")]).expect_code(1).expect_text("was pruned at ");
    home.run(&["trace", "prune", "--older-than", "0", "--yes"]).expect_code(0).expect_text("nothing to remove");
}

#[test]
fn a_run_goes_on_after_damage_that_was_accepted_and_is_never_whole_again() {
    let home = TestHome::with_examples();
    let brief = home.path("examples/first-run/brief.md").display().to_string();
    let project = home.path("examples/first-run/project").display().to_string();
    let answers = home.path("examples/first-run/answers.yaml").display().to_string();
    let go = home.path("go.yaml").display().to_string();
    fs::write(&go, "- {kind: confirmation, answer: go}\n").expect("written");
    home.run(&["run", &brief, "--workdir", &project, "--copy", "--answers", &go]).expect_code(4);
    // An outcome stands before its intent, and another twice.
    let written = fs::read_to_string(home.journal_path(RUN)).expect("a journal");
    let mut lines: Vec<&str> = written.split_inclusive('\n').collect();
    let of_turn = |slot: &str| {
        let named = format!("\"slot\":\"{slot}\"");
        let at = |(index, line): (usize, &&str)| line.contains(&named).then_some(index);
        lines.iter().enumerate().filter_map(at).collect::<Vec<usize>>()
    };
    let (third, second) = (of_turn("turn/3.1"), of_turn("turn/2.1"));
    lines.swap(third[0], third[third.len() - 1]);
    lines.insert(second[second.len() - 1] + 1, lines[second[second.len() - 1]]);
    fs::write(home.journal_path(RUN), lines.concat()).expect("written");
    home.run(&["resume", RUN, "--answers", &answers]).expect_code(1).expect_text("--accept-damage");
    home.run(&["resume", RUN, "--accept-damage", "--answers", &answers]).expect_code(0);
    home.run(&["trace", "verify", RUN]).expect_code(1).expect_text("which an operator accepted");
    home.run(&["trace", "prune", "--older-than", "0", "--yes"]).expect_code(0).expect_text("is not whole");
}

#[test]
fn what_could_not_be_removed_is_told_and_nothing_goes_unasked() {
    let home = ran();
    // What a removal that was broken off has left goes like a run: shown first, and with a yes.
    let note = json!({
        "run_id": "2026-01-15-GONE", "pruned_at": "2026-01-16T00:00:00Z", "outcome": "completed", "lines": 3,
        "is_done": false,
    });
    fs::write(home.path("home/sessions/2026-01-15-GONE.pruned"), note.to_string()).expect("written");
    let left = home.path("home/rescue/2026-01-15-GONE/call");
    fs::create_dir_all(&left).expect("a folder");
    fs::write(left.join("file"), "kept").expect("written");
    let prune = ["trace", "prune", "--older-than", "9999"];
    let said =
        home.run(&prune).expect_code(4).expect_text("goes: what an earlier pruning left of 2026-01-15-GONE  4 bytes");
    assert!(left.exists(), "{}", said.stdout);
    home.run(&[&prune[..], &["--yes"]].concat()).expect_code(0).expect_text("removed: 0, 4 bytes");
    assert!(!left.exists());

    // A lease that can't be used is a failure, not somebody who was faster.
    let lease = home.path(&format!("home/sessions/{RUN}.lease"));
    fs::rename(&lease, home.path("lease")).expect("moved");
    fs::create_dir(&lease).expect("a folder in its place");
    let said = home.run(&["trace", "prune", "--older-than", "0", "--yes"]);
    said.expect_code(1).expect_text("can't use the lease");
    fs::remove_dir(&lease).expect("removed");
    // A pipe in the place of what lies beside a journal holds nobody up.
    for name in [format!("home/sessions/{RUN}.lease"), "home/prune.lock".to_owned()] {
        fs::remove_file(home.path(&name)).ok();
        rustix::fs::mknodat(rustix::fs::CWD, home.path(&name), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .expect("a pipe");
        home.run(&["list"]).expect_code(0);
        home.run(&["trace", "verify", "--all"]);
        home.run(&["trace", "prune", "--older-than", "0", "--yes"]).expect_code(1);
        fs::remove_file(home.path(&name)).expect("removed");
    }
    fs::rename(home.path("lease"), &lease).expect("moved back");
    home.run(&["trace", "prune", "--older-than", "0", "--yes"]).expect_code(0).expect_text("removed: 1");
}

#[test]
fn what_is_the_peers_goes_only_when_asked_for_and_when_no_session_may_use_it() {
    let home = TestHome::new();
    let session = |phase: &str| {
        let meta = json!({
            "brief_id": "P", "project": "orchard", "phase": phase, "updated_at": "2026-01-01T00:00:00.000Z",
        });
        json!({ "schema_version": 3, "meta": meta }).to_string()
    };
    let file = |name: &str| home.path("home/sessions").join(name);
    fs::create_dir_all(home.path("home/sessions")).expect("a folder");
    fs::write(file("P.json"), session("done")).expect("written");
    fs::write(file("P.trace.ndjson"), "{\"type\":\"phase_enter\",\"phase\":\"done\"}\n").expect("written");
    let prune = ["trace", "prune", "--older-than", "0", "--yes"];
    let with_peers = [&prune[..], &["--peer"]].concat();
    home.run(&prune).expect_code(0).expect_text("nothing to remove");
    fs::write(file("other.json"), session("execute")).expect("written");
    home.run(&with_peers).expect_code(0).expect_text("stays: P: a session that has not ended may write to its trace");
    fs::remove_file(file("other.json")).expect("removed");
    assert!(file("P.json").exists() && file("P.trace.ndjson").exists());
    home.run(&with_peers).expect_code(0);
    assert!(!file("P.json").exists() && !file("P.trace.ndjson").exists());
}

#[test]
fn the_first_of_several_runs_is_named_so_that_it_is_meant() {
    let home = ran();
    let example = |file: &str| home.path(&format!("examples/first-run/{file}")).display().to_string();
    let (brief, project, answers) = (example("brief.md"), example("project"), example("answers.yaml"));
    home.run(&["run", &brief, "--workdir", &project, "--copy", "--answers", &answers]).expect_code(0);
    let text = home.read(&format!("home/sessions/{RUN}.trace.ndjson"));
    let third = text.lines().nth(2).expect("a line");
    home.write(&format!("home/sessions/{RUN}.trace.ndjson"), text.replacen(third, &third.replacen(':', ";", 1), 1));
    let first = format!("{RUN}-r1");
    let hint = format!("`adjutant resume {first} --accept-damage` goes on with that");
    home.run(&["trace", "verify", &first]).expect_code(1).expect_text(&hint);
    home.run(&["trace", "verify", "--all"]).expect_code(1).expect_text(&hint);
    let warned = format!("`adjutant trace verify {first}` says what is wrong");
    home.run(&["trace", "export", &first]).expect_code(0).expect_text(&warned);
}

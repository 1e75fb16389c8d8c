//! The command itself: what it prints, where it listens, how it ends. Needs no browser.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use crate::home::TestHome;
use crate::world::Served;

/// Sends a request line with our own name as the host, and returns the response.
fn asked(address: &str, line: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "{line} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    answer
}

#[test]
fn it_listens_on_this_machine_alone_and_ends_with_ctrl_c() {
    let home = TestHome::new();
    let served = Served::over(&home);
    let (address, path) = served.url.strip_prefix("http://").and_then(|url| url.split_once('/')).expect("an address");
    let (name, port) = address.split_once(':').expect("a port");
    assert_eq!(name, "127.0.0.1");
    // Whoever listens on all addresses has this one too.
    let other = TcpListener::bind(format!("127.0.0.2:{port}"));
    assert!(other.is_ok(), "{other:?}");
    let first = asked(address, &format!("GET /{path}"));
    assert!(first.starts_with("HTTP/1.1 303") && first.contains("HttpOnly; SameSite=Strict"), "{first}");
    let second = asked(address, &format!("GET /{path}"));
    assert!(second.starts_with("HTTP/1.1 403") && second.contains("used already"), "{second}");
    assert!(asked(address, "GET /").starts_with("HTTP/1.1 404"));
    // A connection that says nothing holds nothing up.
    let silent = TcpStream::connect(address).expect("it listens");
    assert_eq!(served.interrupt(), Some(0));
    drop(silent);
}

#[test]
fn a_port_that_is_taken_is_said_with_what_to_do() {
    let home = TestHome::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    home.run(&["dashboard", "--port", &port]).expect_code(1).expect_text(&port).expect_text("--port");
    home.run(&["dashboard", "--port", "70000"]).expect_code(2);
}

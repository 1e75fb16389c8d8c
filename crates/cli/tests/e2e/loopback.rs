//! A server on loopback that speaks for a provider.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::Value;

/// A server that answers every request from what is in it: the turn is the number of replies so far.
pub fn serve(mut answer: impl FnMut(&str, &Value) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    // It ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let (head, body) = request(&stream);
            stream.write_all(answer(&head, &body).as_bytes()).expect("the client reads");
        }
    });
    url
}

/// Reads one request: its head as it was sent, and its body.
pub fn request(stream: &TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).expect("a head"), 0, "the request broke off");
    }
    let lower = head.to_ascii_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
    let mut body = vec![0; length.parse().expect("a number")];
    reader.read_exact(&mut body).expect("a body");
    (head, serde_json::from_slice(&body).expect("JSON"))
}

//! Servers on loopback: those that speak for a provider, and others.

use std::io::Write;
use std::net::{TcpListener, TcpStream};

use adjutant_loopback::{Answer, Format, Provider, Reply, read_request};
use serde_json::Value;

/// A provider that replies from what is in a request. It refuses what the real one would refuse.
pub fn model(format: Format, mut reply: impl FnMut(&str, &Value) -> Reply + Send + 'static) -> Provider {
    Provider::start(format, &[], move |head, body| Answer::Reply(reply(head, body)))
}

/// A provider that gives these replies, one to each request; it refuses like [`model`].
pub fn replies(format: Format, replies: Vec<Reply>) -> Provider {
    let mut replies = replies.into_iter();
    model(format, move |_, _| replies.next().expect("the test has a reply for each request"))
}

/// A server that answers every request from what is in it, in any words.
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
    read_request(stream).expect("a request with JSON in it")
}

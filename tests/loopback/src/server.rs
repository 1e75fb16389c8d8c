//! A server that speaks for a provider and refuses what it would refuse.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::{Format, Refusal, Reply, Rules};

/// Answer to a request that keeps the rules.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A reply of the model.
    Reply(Reply),
    /// A reply that stops after its words: the connection stays open until the client goes.
    Stall(Reply),
    /// An error of the provider, such as an overload.
    Error(Refusal),
}

/// One request, and what became of it.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The request line and the headers, as they were sent.
    pub head: String,
    /// The body.
    pub body: Value,
    /// Refusal of the request, if it was refused.
    pub refusal: Option<Refusal>,
    /// The sentences that it would have been refused with, had they not been tolerated.
    pub tolerated: Vec<String>,
    /// Parts that the server gave out with the replies in this request and didn't get back; see [`Rules::lost`].
    pub lost: Vec<String>,
}

/// A provider on loopback. It ends with the test's process.
#[derive(Debug, Clone)]
pub struct Provider {
    url: String,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    rules: Rules,
    exchanges: Vec<Exchange>,
}

impl Provider {
    /// A server that checks every request and gives these replies, one to each that is not refused.
    ///
    /// # Panics
    ///
    /// If this machine gives no port.
    #[must_use]
    pub fn new(format: Format, replies: Vec<Reply>) -> Self {
        let mut replies = replies.into_iter();
        Self::start(format, &[], move |_, _| match replies.next() {
            Some(reply) => Answer::Reply(reply),
            None => Answer::Error(Refusal {
                status: 400,
                body: json!({ "error": { "message": "the test has no more replies", "type": "invalid_request_error" } }),
            }),
        })
    }

    /// A server that checks every request, and answers those that are not refused from what is in them.
    ///
    /// A refusal whose sentence contains one of `tolerated` is recorded and not made.
    ///
    /// # Panics
    ///
    /// If this machine gives no port.
    pub fn start(
        format: Format,
        tolerated: &'static [&'static str],
        answer: impl FnMut(&str, &Value) -> Answer + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State { rules: format.rules(), exchanges: Vec::new() }));
        let (shared, answer) = (Arc::clone(&state), Arc::new(Mutex::new(answer)));
        std::thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let (shared, answer) = (Arc::clone(&shared), Arc::clone(&answer));
                std::thread::spawn(move || {
                    // A client that was killed in the middle of its request or of the reply is no fault here.
                    let Ok((head, body)) = read_request(&stream) else { return };
                    let answer = |head: &str, body: &Value| locked(&answer)(head, body);
                    let (response, is_whole) = respond(format, &shared, tolerated, head, body, answer);
                    (&stream).write_all(response.as_bytes()).ok();
                    if !is_whole {
                        (&stream).read_to_end(&mut Vec::new()).ok();
                    }
                });
            }
        });
        Self { url, state }
    }

    /// Returns the server's address, without a path.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// All requests so far, in the order in which they came.
    #[must_use]
    pub fn exchanges(&self) -> Vec<Exchange> {
        locked(&self.state).exchanges.clone()
    }

    /// The sentences of all refusals so far, those that were tolerated included.
    #[must_use]
    pub fn refusals(&self) -> Vec<String> {
        let sentences = |exchange: Exchange| {
            let refusal = exchange.refusal.map(|refusal| refusal.message().to_owned());
            exchange.tolerated.into_iter().chain(refusal)
        };
        self.exchanges().into_iter().flat_map(sentences).collect()
    }
}

/// A test that fails while it holds the lock has said why; what follows goes on as it can.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Checks a request, answers it, and puts both on record. The record is made before anything is sent, so that a test
/// sees every request that the client has an answer to. With the response comes whether it is all of it.
fn respond(
    format: Format,
    state: &Mutex<State>,
    tolerated: &[&str],
    head: String,
    body: Value,
    mut answer: impl FnMut(&str, &Value) -> Answer,
) -> (String, bool) {
    let (findings, lost) = {
        let state = locked(state);
        (state.rules.findings(&head, &body), state.rules.lost(&body))
    };
    let is_tolerated = |finding: &Refusal| tolerated.iter().any(|sentence| finding.message().contains(sentence));
    let (tolerated, refused): (Vec<_>, Vec<_>) = findings.into_iter().partition(is_tolerated);
    let refusal = refused.into_iter().next();
    let answered = refusal.clone().map_or_else(|| answer(&head, &body), Answer::Error);
    let mut state = locked(state);
    let response = match answered {
        Answer::Reply(reply) => (format.response(&state.rules.give(&reply, &body)), true),
        Answer::Stall(reply) => {
            let mut events = state.rules.give(&reply, &body);
            events.truncate(events.iter().position(|event| says(event, &reply.text)).map_or(0, |place| place + 1));
            (format.begun(&events), false)
        }
        Answer::Error(error) => (error.response(), true),
    };
    let tolerated = tolerated.iter().map(|finding| finding.message().to_owned()).collect();
    state.exchanges.push(Exchange { head, body, refusal, tolerated, lost });
    response
}

/// Returns true if an event has this text.
fn says(event: &Value, text: &str) -> bool {
    let mut said = Vec::new();
    crate::memory::strings(event, &mut said);
    said.contains(&text)
}

/// Reads one request: its head as it was sent, and its body as JSON.
///
/// # Errors
///
/// If the request breaks off or its body is no JSON.
pub fn read_request(stream: &TcpStream) -> io::Result<(String, Value)> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the request broke off"));
        }
    }
    let length = crate::refusal::header(&head, "content-length").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let body = serde_json::from_slice(&body).map_err(io::Error::other)?;
    Ok((head, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends one request and reads the whole response.
    fn post(provider: &Provider, body: &Value) -> String {
        let address = provider.url().strip_prefix("http://").expect("a URL");
        let mut stream = TcpStream::connect(address).expect("it listens");
        let body = body.to_string();
        let length = body.len();
        let head =
            format!("POST /chat/completions HTTP/1.1\r\nauthorization: Bearer k\r\ncontent-length: {length}\r\n");
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).expect("it reads");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("text");
        response
    }

    #[test]
    fn a_refusal_takes_no_reply_and_everything_is_on_record() {
        let format = Format::Chat(crate::Flavor::OpenAi);
        let provider = Provider::new(format, vec![Reply::says("hello")]);
        let good = json!({ "model": "m", "stream": true, "messages": [{ "role": "user", "content": "hi" }] });
        let mut bad = good.clone();
        bad["messages"] = json!([]);
        assert!(post(&provider, &bad).starts_with("HTTP/1.1 400 "));
        let replied = post(&provider, &good);
        assert!(replied.starts_with("HTTP/1.1 200 ") && replied.ends_with("data: [DONE]\n\n"), "{replied}");
        assert!(replied.contains("hello"));
        assert!(post(&provider, &good).contains("the test has no more replies"));
        let exchanges = provider.exchanges();
        assert_eq!(exchanges.len(), 3);
        assert!(exchanges[0].refusal.is_some() && exchanges[1].refusal.is_none());
        assert_eq!(provider.refusals().len(), 1);
    }

    #[test]
    fn what_is_tolerated_is_recorded_and_answered() {
        let reply = |_: &str, _: &Value| Answer::Reply(Reply::says("hello"));
        let provider = Provider::start(Format::Chat(crate::Flavor::OpenAi), &["empty array"], reply);
        assert!(post(&provider, &json!({ "model": "m", "messages": [] })).starts_with("HTTP/1.1 200 "));
        assert_eq!(provider.refusals().len(), 1);
        // Another fault beside it still counts.
        let worse = json!({ "model": "m", "messages": [], "extra": 1 });
        assert!(post(&provider, &worse).contains("Unrecognized request argument supplied: extra"));
    }
}

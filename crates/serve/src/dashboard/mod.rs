//! The dashboard: runs, one run, the inbox, memories, history and profiles in a browser on this machine.
//!
//! In: a home, and requests of one browser. Out: pages; answers and messages in the mailboxes of runs, profiles applied. It holds no
//! state but a cache of what journals say, so that it may be ended at any time.
//!
//! Begin with [`Dashboard`]. `door.rs` says who may come in, `guard.rs` which requests are looked at at all, `acts.rs`
//! what changes something; `pages/` has a file for each page, `follow.rs` follows a run, `look.rs` is what all of them
//! look at. `escape.rs` is how untrusted text gets onto a page.

mod acts;
mod assets;
mod door;
mod escape;
mod fault;
mod follow;
mod guard;
mod look;
mod pages;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use adjutant_core::words::price::Prices;
use adjutant_store::Home;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::{get, post};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use door::Door;
pub use escape::Visible;
use look::HomeReader;

/// Most connections at once: a browser opens six.
const CONNECTIONS_MAX: usize = 64;

/// Most runs followed at once, over all windows of the browser.
const FOLLOWED_MAX: usize = 24;

/// Longest time for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest body of a request, in bytes: an answer with a long text.
const BODY_BYTES_MAX: usize = 512 * 1024;

/// Longest time that handlers at work may take once the dashboard ends.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// State shared by all requests.
struct Hall {
    look: HomeReader,
    door: Door,
    /// The port that is served: a request for another was not meant for us.
    port: u16,
    /// Prefix of every path.
    base: String,
    follows: Arc<Semaphore>,
    stop: CancellationToken,
}

/// A dashboard that has its port and serves no browser yet.
pub struct Dashboard {
    listener: TcpListener,
    hall: Arc<Hall>,
}

impl Dashboard {
    /// Takes `port` of this machine for itself, or a free one for 0. It shows what is in `home`; what has no price on
    /// record is counted by `prices`.
    ///
    /// # Errors
    ///
    /// If the port can't be had, or the system has no random numbers.
    pub async fn bind(home: Home, prices: BTreeMap<String, Prices>, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
        let port = listener.local_addr()?.port();
        let door = Door::new()?;
        let hall = Hall {
            look: HomeReader::new(home, prices),
            port,
            base: format!("/{}", door.path()),
            door,
            follows: Arc::new(Semaphore::new(FOLLOWED_MAX)),
            stop: CancellationToken::new(),
        };
        Ok(Self { listener, hall: Arc::new(hall) })
    }

    /// The address that lets one browser in, once.
    #[must_use]
    pub fn url(&self) -> String {
        let Hall { port, base, door, .. } = self.hall.as_ref();
        format!("http://{}:{port}{base}/open?token={}", Ipv4Addr::LOCALHOST, door.token())
    }

    /// All that can be asked for, with its guard.
    pub fn router(&self) -> Router {
        router(&self.hall)
    }

    /// Serves until `stop`.
    ///
    /// # Errors
    ///
    /// If no connection can be taken any more.
    pub async fn serve(self, stop: CancellationToken) -> io::Result<()> {
        let router = self.router();
        let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let mut served = JoinSet::new();
        {
            // The list of runs is read before somebody asks for it.
            let hall = self.hall.clone();
            tokio::task::spawn_blocking(move || hall.look.runs().ok().map(drop));
        }
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = served.join_next() => continue,
                accepted = self.listener.accept() => accepted,
            };
            let (stream, _) = match accepted {
                Ok(accepted) => accepted,
                // A connection that was gone before it was taken, or no room for its file: others may do better.
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let Ok(place) = room.clone().try_acquire_owned() else { continue };
            let service = TowerToHyperService::new(router.clone());
            let stop = self.hall.stop.clone();
            served.spawn(async move {
                let connection = hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD_TIMEOUT)
                    .serve_connection(TokioIo::new(stream), service);
                tokio::pin!(connection);
                let ended: Result<(), hyper::Error> = tokio::select! {
                    ended = connection.as_mut() => ended,
                    () = stop.cancelled() => {
                        connection.as_mut().graceful_shutdown();
                        connection.await
                    }
                };
                // A browser that went away is no failure of ours.
                ended.ok();
                drop(place);
            });
        }
        self.hall.stop.cancel();
        tokio::time::timeout(END_TIMEOUT, async { while served.join_next().await.is_some() {} }).await.ok();
        Ok(())
    }
}

fn router(hall: &Arc<Hall>) -> Router {
    let base = hall.base.as_str();
    let at = |path: &str| format!("{base}{path}");
    let inside: Router<Arc<Hall>> = Router::new()
        .route(&at(""), get(pages::front))
        .route(&at("/"), get(pages::front))
        .route(&at("/runs"), get(pages::runs::page))
        .route(&at("/runs/"), get(pages::front))
        .route(&at("/runs/{run}"), get(pages::run::page))
        .route(&at("/runs/{run}/events"), get(follow::follow))
        .route(&at("/runs/{run}/say"), post(acts::say))
        .route(&at("/inbox"), get(pages::inbox::page))
        .route(&at("/inbox/batch"), get(pages::inbox::batch))
        .route(&at("/inbox/state"), get(pages::inbox::state))
        .route(&at("/memory"), get(pages::memory::projects))
        .route(&at("/memory/{project}"), get(pages::memory::page))
        .route(&at("/history"), get(pages::past::histories))
        .route(&at("/history/{project}"), get(pages::history::page))
        .route(&at("/profile"), get(pages::past::profiles))
        .route(&at("/profile/{project}"), get(pages::profile::page))
        .route(&at("/profile/{project}/apply"), post(acts::apply))
        .route(&at("/profile/{project}/reset"), post(acts::reset))
        .route(&at("/answer"), post(acts::answer))
        .route_layer(middleware::from_fn_with_state(hall.clone(), guard::only_with_session));
    let outside: Router<Arc<Hall>> = Router::new()
        .route(&at("/open"), get(door::open))
        .route(&at("/style.css"), get(assets::style))
        .route(&at("/script.js"), get(assets::script))
        .route(&at("/icon.svg"), get(assets::icon));
    inside
        .merge(outside)
        .fallback(fault::nothing_there)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(hall.clone(), guard::guard))
        .with_state(hall.clone())
}

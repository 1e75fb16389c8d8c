//! Reads what all pages show: the runs and their journals, open questions, memories. Keeps results that stay the same
//! as long as the files do.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use adjutant_core::trace::read::{self, Trace};
use adjutant_core::view::cost::{self, Cost, Pricing};
use adjutant_core::words::id::RunId;
use adjutant_core::words::price::Prices;
use adjutant_runtime::waiting::Waiting;
use adjutant_store::home::JOURNAL_ENDING;
use adjutant_store::runs::{self, Catalogue, Catalogued, Found, Identity, Listed};
use adjutant_store::scan::{self, Use};
use adjutant_store::{Home, MemoryStore, Owner, chain};
use axum::http::StatusCode;
use jiff::Timestamp;

use super::fault::RequestFault;

/// Number of runs whose costs are kept: those of the pages that somebody looks at.
const COSTS_KEPT_MAX: usize = 20_000;

/// Costs of runs by their names, each with the identities of the files that it was read from.
type Costs = HashMap<String, ([Option<Identity>; 2], String)>;

pub(super) struct HomeReader {
    pub(super) home: Home,
    prices: BTreeMap<String, Prices>,
    seer: Owner,
    catalogue: Mutex<Catalogue>,
    costs: Mutex<Costs>,
}

/// A journal as it was read.
#[derive(Default)]
pub(super) struct JournalLines {
    lines: Vec<(u64, String)>,
    unusable: Vec<u64>,
}

impl JournalLines {
    /// Returns the number of lines in a journal of ours that don't carry the hash of the line before.
    pub(super) fn breaks(&self) -> u64 {
        chain::breaks(self.lines.iter().map(|(_, line)| line.as_bytes()))
    }

    pub(super) fn trace(&self) -> Trace<'_> {
        let mut trace = read::read_lines(self.lines.iter().map(|(number, line)| (*number, line.as_str())));
        trace.damaged.extend(&self.unusable);
        trace.damaged.sort_unstable();
        trace.damaged.dedup();
        trace
    }
}

impl HomeReader {
    pub(super) fn new(home: Home, prices: BTreeMap<String, Prices>) -> Self {
        Self { home, prices, seer: Owner::current(), catalogue: Mutex::default(), costs: Mutex::default() }
    }

    /// All runs, newest first.
    pub(super) fn runs(&self) -> Result<Vec<Catalogued>, RequestFault> {
        let mut catalogue = self.catalogue.lock().unwrap_or_else(PoisonError::into_inner);
        catalogue
            .refresh(&self.home, &self.seer, Timestamp::now())
            .map_err(|error| RequestFault::failed(format!("can't read the folder of sessions: {error}")))
    }

    /// Returns the cost of a run in short; a dash if its journal can't be read.
    pub(super) fn cost_in_short(&self, run: &Catalogued) -> String {
        let kept = || self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        let name = run.listed.name();
        if let Some((_, cost)) = kept().get(name).filter(|(identity, _)| *identity == run.identity) {
            return cost.clone();
        }
        let path = match run.listed.as_ref() {
            Listed::Run(run) => Some(self.home.journal(&run.run_id)),
            Listed::Peer(peer) => peer.trace.clone(),
            Listed::Unreadable { .. } => None,
        };
        let Some(lines) = path.and_then(|path| lines(path).ok()) else { return "-".to_owned() };
        let cost = self.cost(&lines.trace()).in_short();
        let mut kept = kept();
        if kept.len() >= COSTS_KEPT_MAX {
            kept.clear();
        }
        kept.insert(name.to_owned(), (run.identity, cost.clone()));
        cost
    }

    /// Returns the cost of a run.
    pub(super) fn cost(&self, trace: &Trace<'_>) -> Cost {
        cost::of(trace, Pricing::Configured(&self.prices))
    }

    /// Returns the run or session with exactly this name, as an address has it.
    pub(super) fn named(&self, name: &str) -> Result<Found, RequestFault> {
        runs::named(&self.home, name).ok_or_else(no_such_run)
    }

    /// The run of ours of exactly this name: nothing is said to one that was never begun, or that is the peer's.
    pub(super) fn run(&self, name: &str) -> Result<RunId, RequestFault> {
        match self.named(name)? {
            Found::Run(run_id) => Ok(run_id),
            Found::Peer(_) => Err(no_such_run()),
        }
    }

    /// The trace of a session of the peer; nothing if it has none.
    pub(super) fn trace_of_peer(&self, name: &str) -> Result<JournalLines, RequestFault> {
        match lines(self.home.sessions().join(format!("{name}{JOURNAL_ENDING}"))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(JournalLines::default()),
            read => read.map_err(|error| RequestFault::failed(format!("can't read the trace of `{name}`: {error}"))),
        }
    }

    /// The journal of a run.
    pub(super) fn journal(&self, run_id: &RunId) -> Result<JournalLines, RequestFault> {
        lines(self.home.journal(run_id)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => no_such_run(),
            _ => RequestFault::failed(format!("can't read the journal of `{run_id}`: {error}")),
        })
    }

    /// Returns everything that waits in all runs.
    pub(super) fn waiting(&self) -> Result<Waiting, RequestFault> {
        Waiting::read(&self.home, &self.seer, Timestamp::now())
            .map_err(|error| RequestFault::failed(format!("can't read the folder of sessions: {error}")))
    }

    /// Returns everything that waits in one run.
    pub(super) fn waiting_of(&self, run_id: &RunId) -> Result<Waiting, RequestFault> {
        Waiting::of_run(&self.home, run_id, &self.seer, Timestamp::now()).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => no_such_run(),
            _ => RequestFault::failed(format!("can't read the journal of `{run_id}`: {error}")),
        })
    }

    pub(super) fn memory(&self) -> MemoryStore {
        MemoryStore::new(self.home.clone())
    }
}

fn no_such_run() -> RequestFault {
    RequestFault::new(StatusCode::NOT_FOUND, "There is no such run").hint("the list of runs shows all that there are")
}

fn lines(path: PathBuf) -> io::Result<JournalLines> {
    let mut lines = Vec::new();
    let scanned = scan::scan_file(&path, |number, line| {
        lines.push((number, line.to_owned()));
        Use::Taken
    })?;
    Ok(JournalLines { lines, unusable: scanned.damaged.into_iter().map(|(number, _)| number).collect() })
}

/// Does what reads files without holding up others.
pub(super) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RequestFault> + Send + 'static,
) -> Result<T, RequestFault> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(RequestFault::failed("This could not be read")))
}

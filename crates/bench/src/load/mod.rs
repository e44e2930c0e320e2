//! A load generator for servers that speak CouchDB's HTTP interface.
//!
//! Clients are threads with one connection each. In a closed loop a client asks again as soon as it has its answer, so a
//! slow server is asked less. In an open loop (with a rate) requests are due at fixed times, and latency counts from
//! when a request was due: a server that stalls is charged for the requests that it kept from being sent (Gil Tene's
//! "coordinated omission").

mod client;
mod mix;
mod tables;

use crate::BenchError;
use crate::couch::Endpoint;
use crate::database::{DocumentSource, Documents, SampleSize};
use crate::measuring::{Interleaved, Machine, Samples};
use crate::processes::ServerProcess;
use crate::report::Report;
use client::{Client, prepare};
use hdrhistogram::Histogram;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use varve_base::{Interrupt, Progress, Storage, Unit};
use varve_json::{Object, parse_object, write_object};

pub use mix::{Mix, MixError, RequestKind};

/// Requests to send, and for how long.
#[derive(Clone, Debug)]
pub struct Options {
    /// JSON objects; each write sends the next one under an id of its own.
    pub documents: Vec<Vec<u8>>,
    /// Shares of the kinds of requests.
    pub mix: Mix,
    /// How many connections.
    pub clients: usize,
    /// Documents in one write: 1 is a `PUT`, more a `POST` to `_bulk_docs`.
    pub batch: usize,
    /// Requests a second of all clients together; `None` is a closed loop.
    pub rate: Option<f64>,
    /// Duration of one run.
    pub duration: Duration,
    /// Path below the database of each query, such as `_design/d/_view/v?limit=10`.
    pub query: String,
    /// Runs that count; at least 3. One more goes before them.
    pub runs: usize,
}

/// Makes the documents where none are given; `{n}` is the document's number.
pub const DEFAULT_TEMPLATE: &str = r#"{"type":"reading","number":{n},"station":"north","values":[12.5,13.1,12.9,14.2],"note":"the quick brown fox jumps over the lazy dog"}"#;

/// Documents of a template, in which `{n}` stands for a number from 0 on.
///
/// # Errors
/// [`BenchError::Template`] if that gives no JSON objects.
pub fn documents_of_template(template: &str) -> Result<Vec<Vec<u8>>, BenchError> {
    /// Later documents begin again with the first.
    const COUNT: u32 = 1000;
    let one = |number: u32| {
        let text = template.replace("{n}", &number.to_string());
        let object = parse_object(text.as_bytes()).map_err(|error| BenchError::Template {
            reason: error.to_string(),
        })?;
        Ok(usual_text(object))
    };
    (0..COUNT).map(one).collect()
}

/// The documents of a file, one JSON object a line.
///
/// # Errors
/// [`BenchError::NotADocument`]; errors of the storage; [`BenchError::Nothing`].
pub fn documents_of_file(
    storage: &Arc<dyn Storage>,
    file: &Path,
    interrupt: &Interrupt,
) -> Result<Vec<Vec<u8>>, BenchError> {
    let source = DocumentSource::Lines(file.to_owned());
    let all = SampleSize::within_memory(usize::MAX);
    let documents = Documents::read(storage, &source, all, interrupt)?;
    Ok(documents.texts.into_iter().map(|(_, text)| text).collect())
}

/// The text without members that begin with `_`: each write has an id of its own.
fn usual_text(mut object: Object) -> Vec<u8> {
    object.retain(|name, _| !name.starts_with('_'));
    let mut text = Vec::new();
    write_object(&object, &mut text);
    text
}

/// Latencies of one kind of request in microseconds, to three digits.
pub(crate) type Latencies = Histogram<u64>;

/// Results of one run.
#[derive(Debug)]
pub(crate) struct RunResult {
    /// Wall time of the run in seconds.
    pub seconds: f64,
    /// By kind, in the order of [`RequestKind::ALL`].
    pub latencies: Vec<Latencies>,
    /// Answers with a status of 400 and above, by kind.
    pub errors: Vec<u64>,
    /// Processor seconds that the server used; `None` if it is not on this machine.
    pub processor: Option<f64>,
}

/// All runs.
#[derive(Debug)]
pub(crate) struct LoadResult {
    pub runs: Vec<RunResult>,
    /// By tenth of all runs together: requests, and the latencies of all kinds.
    pub timeline: Vec<(f64, Latencies)>,
    /// Peak of the server's resident memory in bytes.
    pub memory: Option<u64>,
    pub is_cut_short: bool,
}

/// Bounds of what is recorded: a microsecond to an hour; longer ones count as an hour.
const LONGEST: u64 = 3_600_000_000;

pub(crate) fn latencies() -> Result<Latencies, BenchError> {
    Histogram::new_with_bounds(1, LONGEST, 3).map_err(|error| BenchError::Histogram {
        reason: error.to_string(),
    })
}

/// Loads the server at `url`, which names a database; it is made if it is not there, and stays.
///
/// # Errors
/// [`BenchError::Server`]: a URL that cannot be used, a server that does not answer; too few runs.
pub fn run(
    url: &str,
    options: &Options,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Report, BenchError> {
    if options.runs < 3 {
        return Err(BenchError::TooFewRuns { runs: options.runs });
    }
    let machine = Machine::now();
    let target = Endpoint::database(url)?;
    let version = prepare(&target, options)?;
    let server = ServerProcess::find(target.local_port());
    let done = measure(&target, options, (server.as_ref(), progress), interrupt)?;
    let mut report = Report::new(
        format!("varve bench load {}", target.shown()),
        machine,
        options.runs,
    );
    tables::fill(&mut report, &done, &version, options)?;
    let cut = Interleaved {
        samples: Vec::new(),
        is_cut_short: done.is_cut_short,
    };
    // Kinds of requests are no choices.
    report.judge(&cut, &[tables::REQUESTS]);
    Ok(report)
}

fn measure(
    target: &Endpoint,
    options: &Options,
    (server, progress): (Option<&ServerProcess>, &dyn Progress),
    interrupt: &Interrupt,
) -> Result<LoadResult, BenchError> {
    let total = options.duration.as_secs_f64() * (options.runs + 1) as f64 * 10.0;
    progress.begin("loading the server", Unit::Items, Some(total as u64));
    let mut all = LoadResult {
        runs: Vec::new(),
        timeline: Vec::new(),
        memory: None,
        is_cut_short: false,
    };
    for number in 0..=options.runs {
        if interrupt.is_raised() {
            break;
        }
        let is_warm_up = number == 0;
        let (result, timeline) = one_run(target, options, number, (server, progress), interrupt)?;
        if is_warm_up {
            continue;
        }
        all.runs.push(result);
        all.timeline.extend(timeline);
    }
    progress.end();
    all.is_cut_short = interrupt.is_raised();
    all.memory = server.and_then(ServerProcess::peak_memory);
    match all.runs.is_empty() {
        true => Err(BenchError::Interrupted(varve_base::Interrupted)),
        false => Ok(all),
    }
}

/// Tenths of a run.
const SLICES: usize = 10;

type Timeline = Vec<(f64, Latencies)>;

fn one_run(
    target: &Endpoint,
    options: &Options,
    number: usize,
    (server, progress): (Option<&ServerProcess>, &dyn Progress),
    interrupt: &Interrupt,
) -> Result<(RunResult, Timeline), BenchError> {
    let before = server.and_then(ServerProcess::processor_seconds);
    let start = Instant::now();
    let until = start + options.duration;
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for client in 0..options.clients {
            let outcomes = &outcomes;
            scope.spawn(move || {
                let mut client = Client::new(target, options, (number, client), start);
                let outcome = client.run_until(until, interrupt);
                let mut outcomes = outcomes
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                outcomes.push(outcome);
            });
        }
        while Instant::now() < until && !interrupt.is_raised() {
            std::thread::sleep(Duration::from_millis(100).min(until - Instant::now().min(until)));
            progress.advance(1);
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    let after = server.and_then(ServerProcess::processor_seconds);
    let mut result = RunResult {
        seconds,
        latencies: Vec::new(),
        errors: vec![0; RequestKind::ALL.len()],
        processor: before.zip(after).map(|(before, after)| after - before),
    };
    for _ in RequestKind::ALL {
        result.latencies.push(latencies()?);
    }
    let mut slices = Vec::with_capacity(SLICES);
    for _ in 0..SLICES {
        slices.push((0.0, latencies()?));
    }
    let slice = options.duration.as_secs_f64() / SLICES as f64;
    let outcomes = outcomes
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    for outcome in outcomes {
        for request in outcome? {
            let kind = request.kind as usize;
            result.latencies[kind].saturating_record(request.micros.max(1));
            result.errors[kind] += u64::from(request.is_error);
            let at = (request.finished / slice) as usize;
            let (rate, all) = &mut slices[at.min(SLICES - 1)];
            *rate += 1.0 / slice;
            all.saturating_record(request.micros.max(1));
        }
    }
    Ok((result, slices))
}

impl LoadResult {
    /// One number of each run.
    pub fn samples(&self, of: impl Fn(&RunResult) -> f64) -> Samples {
        Samples::new(self.runs.iter().map(of).collect())
    }
}

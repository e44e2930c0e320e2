//! Measures stream clones and pulls over HTTP: throughput and processor time of the server, with several clients at
//! once. Answers are read, expanded and dropped; applying them is what `bench bundle` measures.

mod fetch;
mod tables;

use crate::BenchError;
use crate::measuring::{Interleaved, Machine, Rounds, Samples, Task};
use crate::processes::{LocalServer, Program, ServerProcess, local_port, or_interrupted};
use crate::report::Report;
use fetch::{Answer, Fetch};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Instant;
use url::Url;
use varve_base::{Interrupt, Progress};

/// Servers of a history.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A server that runs already.
    Url(String),
    /// A repository on this machine, served by each of these programs in turns.
    Repository {
        /// The repository.
        path: PathBuf,
        /// The first one is that to which the others are compared.
        programs: Vec<Program>,
    },
}

/// Numbers of clients and runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Numbers of clients that ask at once, in the order of the report.
    pub clients: Vec<usize>,
    /// Rounds that count; at least 3.
    pub runs: usize,
}

impl Default for Options {
    /// One client, four and sixteen; three runs.
    fn default() -> Options {
        Options {
            clients: vec![1, 4, 16],
            runs: 3,
        }
    }
}

/// A request for a whole history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// The files of the store, as they are.
    Stream,
    /// All changesets as a compressed changegroup.
    Pull,
}

impl RequestKind {
    const ALL: [RequestKind; 2] = [RequestKind::Stream, RequestKind::Pull];

    /// Name for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            RequestKind::Stream => "stream clone",
            RequestKind::Pull => "pull",
        }
    }
}

/// A server with what is known of it.
struct MeasuredServer {
    name: &'static str,
    url: String,
    process: Option<ServerProcess>,
    kinds: Vec<RequestKind>,
    /// Keeps a server alive that was started for the measurement.
    _started: Option<LocalServer>,
}

/// Wall seconds and processor seconds of the server, for one request of all clients.
const QUANTITIES: usize = 2;

/// One kind of request with a number of clients.
#[derive(Clone, Debug)]
pub(crate) struct RequestRow {
    pub server: &'static str,
    pub kind: RequestKind,
    pub clients: usize,
    /// `None` before the first run.
    pub answer: Option<Answer>,
    pub wall: Samples,
    /// Processor seconds of the server for the answers to all clients; none if it runs elsewhere.
    pub processor: Samples,
}

/// Measures the servers of `subject`.
///
/// # Errors
/// [`BenchError`]: a server that cannot be started or reached, or whose answers differ; too few runs.
pub fn run(
    subject: &Subject,
    options: &Options,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Report, BenchError> {
    let machine = Machine::now();
    let servers = match subject {
        Subject::Url(url) => vec![MeasuredServer::running(url)?],
        Subject::Repository { path, programs } => {
            let started = programs
                .iter()
                .map(|program| MeasuredServer::start(program, path));
            started.collect::<Result<_, _>>()?
        }
    };
    let rounds = Rounds {
        runs: options.runs,
        progress,
        interrupt,
    };
    let (rows, done) = measure(&servers, options, &rounds)?;
    let mut report = Report::new(
        format!("varve bench stream {}", subject.name()),
        machine,
        options.runs,
    );
    tables::fill(&mut report, &rows, &servers, options);
    report.judge(&done, &[tables::ANSWERS, tables::COMPARED]);
    Ok(report)
}

impl Subject {
    /// The URL or path, without a login.
    fn name(&self) -> String {
        match self {
            Subject::Url(url) => without_login(url),
            Subject::Repository { path, .. } => path.display().to_string(),
        }
    }
}

fn without_login(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else {
        return text.to_owned();
    };
    // These fail for URLs without a host only.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

impl MeasuredServer {
    fn start(program: &Program, repository: &Path) -> Result<MeasuredServer, BenchError> {
        let server = LocalServer::start(program, repository)?;
        let url = server.url().to_owned();
        Ok(MeasuredServer {
            name: program.name,
            kinds: kinds(&url)?,
            process: Some(server.process()),
            url,
            _started: Some(server),
        })
    }

    fn running(url: &str) -> Result<MeasuredServer, BenchError> {
        let port = Url::parse(url).ok().and_then(|url| local_port(&url));
        Ok(MeasuredServer {
            name: "server",
            kinds: kinds(url)?,
            process: ServerProcess::find(port),
            url: url.to_owned(),
            _started: None,
        })
    }

    /// Lets one client make every request once. Mercurial's server loads its modules at the first one, and fails if
    /// two come at that time.
    fn answer_alone(&self, interrupt: &Interrupt) -> Result<(), BenchError> {
        for kind in &self.kinds {
            let fetch = Fetch {
                url: &self.url,
                kind: *kind,
                clients: 1,
                interrupt,
            };
            fetch.run(false)?;
        }
        Ok(())
    }
}

/// Requests that the server takes: it may have stream clones switched off.
fn kinds(url: &str) -> Result<Vec<RequestKind>, BenchError> {
    let has_streams = fetch::has_streams(url)?;
    let all = RequestKind::ALL.into_iter();
    Ok(all
        .filter(|kind| has_streams || *kind == RequestKind::Pull)
        .collect())
}

fn measure(
    servers: &[MeasuredServer],
    options: &Options,
    rounds: &Rounds<'_>,
) -> Result<(Vec<RequestRow>, Interleaved), BenchError> {
    let mut works = Vec::new();
    for clients in &options.clients {
        for kind in RequestKind::ALL {
            let able = servers.iter().filter(|server| server.kinds.contains(&kind));
            works.extend(able.map(|server| (server, kind, *clients)));
        }
    }
    for server in servers {
        or_interrupted(server.answer_alone(rounds.interrupt), rounds.interrupt)?;
    }
    let answers: Vec<Cell<Option<Answer>>> = works.iter().map(|_| Cell::new(None)).collect();
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for ((server, kind, clients), answer) in works.iter().zip(&answers) {
        let repeats = Cell::new(1);
        tasks.push(Box::new(move || {
            let fetch = Fetch {
                url: &server.url,
                kind: *kind,
                clients: *clients,
                interrupt: rounds.interrupt,
            };
            let done = run_once(server, &fetch, answer, &repeats);
            Ok(or_interrupted(done, rounds.interrupt)?.to_vec())
        }));
    }
    let done = rounds.interleave("cloning over HTTP", &mut tasks)?;
    drop(tasks);
    let rows = works.iter().zip(answers).enumerate();
    let rows = rows.map(|(index, ((server, kind, clients), answer))| RequestRow {
        server: server.name,
        kind: *kind,
        clients: *clients,
        answer: answer.get(),
        wall: done.of(index, 0),
        processor: match server.process {
            Some(_) => done.of(index, 1),
            None => Samples::default(),
        },
    });
    Ok((rows.collect(), done))
}

/// Repeats the request so often that a run is long against a clock tick of processor time (10 ms); the first call
/// finds how often.
fn run_once(
    server: &MeasuredServer,
    fetch: &Fetch<'_>,
    answer: &Cell<Option<Answer>>,
    repeats: &Cell<u32>,
) -> Result<[f64; QUANTITIES], BenchError> {
    /// Seconds of a run, and how often it repeats the request at most.
    const LONG_ENOUGH: f64 = 0.5;
    const MOST: u32 = 50;
    let processor = || server.process.as_ref()?.processor_seconds();
    let is_first = answer.get().is_none();
    let (before, start) = (processor(), Instant::now());
    let mut wall = 0.0;
    for _ in 0..repeats.get() {
        let (found, seconds) = fetch.run(is_first)?;
        wall += seconds;
        match answer.get() {
            None => answer.set(Some(found)),
            Some(known) if known.bytes == found.bytes => {}
            Some(_) => {
                return Err(BenchError::OtherAnswer {
                    url: without_login(&server.url),
                });
            }
        }
    }
    let used = processor()
        .zip(before)
        .map_or(0.0, |(now, then)| now - then);
    let each = f64::from(repeats.get());
    if is_first {
        let took = start.elapsed().as_secs_f64().max(1e-3);
        repeats.set(((LONG_ENOUGH / took).ceil() as u32).clamp(1, MOST));
    }
    Ok([wall / each, used / each])
}

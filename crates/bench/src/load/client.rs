//! One connection and its requests.

use super::{Options, RequestKind};
use crate::BenchError;
use crate::couch::{Endpoint, agent};
use std::time::{Duration, Instant};
use ureq::Agent;
use varve_base::Interrupt;

/// A request that takes longer is an error.
const PATIENCE: Duration = Duration::from_secs(60);

/// One finished request.
pub(super) struct FinishedRequest {
    pub kind: RequestKind,
    /// From when it was due in an open loop, or sent in a closed one.
    pub micros: u64,
    /// Seconds after the beginning of the run.
    pub finished: f64,
    pub is_error: bool,
}

/// Makes the database if it is not there, and writes documents for the first reads; returns the server's name.
pub(super) fn prepare(target: &Endpoint, options: &Options) -> Result<String, BenchError> {
    let agent = agent(PATIENCE);
    let status = target.send(&agent, ("PUT", ""), b"")?.status;
    // 412: it is there already.
    if !matches!(status, 201 | 202 | 412) {
        return Err(target.failed(format!("PUT of the database is answered with {status}")));
    }
    let body = bulk(
        options,
        (0..READABLE).map(|number| (readable_id(number), number)),
    );
    let status = target.send(&agent, ("POST", "/_bulk_docs"), &body)?.status;
    if !matches!(status, 201 | 202) {
        return Err(target.failed(format!("_bulk_docs is answered with {status}")));
    }
    if options.mix.has(RequestKind::Query) {
        let path = format!("/{}", options.query);
        let status = target.send(&agent, ("GET", &path), b"")?.status;
        if status >= 400 {
            return Err(target.failed(format!(
                "the query {} is answered with {status}",
                options.query
            )));
        }
    }
    target.server_name(&agent)
}

/// Documents that are there before the first run.
const READABLE: u64 = 1000;

fn readable_id(number: u64) -> String {
    format!("bench-{number:04}")
}

/// A body for `_bulk_docs`; answers about documents that are there already do not count.
fn bulk(options: &Options, documents: impl Iterator<Item = (String, u64)>) -> Vec<u8> {
    let mut body = b"{\"docs\":[".to_vec();
    for (index, (id, number)) in documents.enumerate() {
        if index > 0 {
            body.push(b',');
        }
        push_document(options, &id, number, &mut body);
    }
    body.extend_from_slice(b"]}");
    body
}

/// The document of this number with an id in front.
fn push_document(options: &Options, id: &str, number: u64, out: &mut Vec<u8>) {
    let text = &options.documents[(number % options.documents.len() as u64) as usize];
    out.extend_from_slice(format!("{{\"_id\":\"{id}\"").as_bytes());
    let inside = &text[1..text.len() - 1];
    if !inside.trim_ascii().is_empty() {
        out.push(b',');
        out.extend_from_slice(inside);
    }
    out.push(b'}');
}

/// One client of one run.
pub(super) struct Client<'c> {
    target: &'c Endpoint,
    options: &'c Options,
    agent: Agent,
    /// Number of the run and of the client, for ids that no other has.
    name: (usize, usize),
    start: Instant,
}

impl<'c> Client<'c> {
    pub fn new(
        target: &'c Endpoint,
        options: &'c Options,
        name: (usize, usize),
        start: Instant,
    ) -> Client<'c> {
        Client {
            target,
            options,
            agent: agent(PATIENCE),
            name,
            start,
        }
    }

    /// Sends requests until the time is over; returns what was finished by then.
    pub fn run_until(
        &mut self,
        until: Instant,
        interrupt: &Interrupt,
    ) -> Result<Vec<FinishedRequest>, BenchError> {
        // Ids must differ from those of an earlier call on the same database.
        let epoch = std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .unwrap_or_default()
            .as_micros();
        let clients = self.options.clients as f64;
        let each = self
            .options
            .rate
            .map(|rate| Duration::from_secs_f64(clients / rate));
        let phase = each.map(|each| each.mul_f64(self.name.1 as f64 / clients));
        let mut finished = Vec::new();
        for number in 0u64.. {
            let due = match (each, phase) {
                (Some(each), Some(phase)) => self.start + phase + each.mul_f64(number as f64),
                _ => Instant::now(),
            };
            if due >= until || Instant::now() >= until || interrupt.is_raised() {
                break;
            }
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let kind = self.options.mix.pick(number + 31 * self.name.1 as u64);
            let is_error = self.ask(kind, number, epoch)?;
            finished.push(FinishedRequest {
                kind,
                micros: u64::try_from(due.elapsed().as_micros()).unwrap_or(u64::MAX),
                finished: self.start.elapsed().as_secs_f64(),
                is_error,
            });
        }
        Ok(finished)
    }

    /// Sends one request; returns whether its answer is an error.
    fn ask(&self, kind: RequestKind, number: u64, epoch: u128) -> Result<bool, BenchError> {
        let (run, client) = self.name;
        let id = |part: u64| format!("load-{epoch:x}-{run}-{client}-{number}-{part}");
        let mixed = (number * 7919 + client as u64 * 104_729) % READABLE;
        let send = |method: &str, path: &str, body: &[u8]| {
            self.target.send(&self.agent, (method, path), body)
        };
        let answer = match kind {
            RequestKind::Read => send("GET", &format!("/{}", readable_id(mixed)), b"")?,
            RequestKind::Query => send("GET", &format!("/{}", self.options.query), b"")?,
            RequestKind::Feed => send("GET", "/_changes?limit=100&descending=true", b"")?,
            RequestKind::Write if self.options.batch == 1 => {
                let mut body = Vec::new();
                push_document(self.options, &id(0), number, &mut body);
                send("PUT", &format!("/{}", id(0)), &body)?
            }
            RequestKind::Write => {
                let documents =
                    (0..self.options.batch as u64).map(|part| (id(part), number + part));
                send("POST", "/_bulk_docs", &bulk(self.options, documents))?
            }
        };
        Ok(answer.status >= 400)
    }
}

//! The log of requests, in the form of `hg serve`:
//!
//! ```text
//! PEER - - [DAY/MONTH/YEAR HOUR:MINUTE:SECOND] "METHOD TARGET VERSION" STATUS - HEADER:VALUE …
//! ```
//! with those headers whose names begin with `x-`, sorted. Lines are written by a thread of their own, so that no
//! request waits for a disk or a pipe. If the queue is full, lines are lost, and their number is logged when there is
//! room again.

use crate::ServerError;
use crate::runtime::log::Log;
use hyper::StatusCode;
use hyper::header::HeaderMap;
use parking_lot::Mutex;
use std::fmt;
use std::io::Write;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};
use varve_lang::date::{Date, Zone};

/// Lines that may wait; with usual requests that is a few MiB.
const WAITING: usize = 10_000;
/// Lines that wait are written together up to so many bytes.
const TOGETHER: usize = 64 << 10;

/// Where the lines of an access log go.
pub struct AccessLogOutput {
    /// Gets whole lines, many at a time.
    pub out: Box<dyn Write + Send>,
    /// The zone of the times.
    pub zone: Zone,
}

impl fmt::Debug for AccessLogOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessLogOutput")
    }
}

/// One line for each answered request.
#[derive(Debug)]
pub(crate) struct AccessLog {
    sender: SyncSender<Note>,
    lost: Arc<AtomicU64>,
    zone: Zone,
    writer: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
enum Note {
    Line(Vec<u8>),
    End,
}

/// A request whose answer is not known yet.
#[derive(Debug)]
pub(crate) struct AccessLogEntry {
    peer: IpAddr,
    line: String,
    headers: String,
}

impl AccessLogEntry {
    pub(crate) fn of<B>(peer: IpAddr, request: &hyper::Request<B>) -> AccessLogEntry {
        let (method, target) = (request.method(), request.uri());
        let line = format!("{method} {target} {:?}", request.version());
        AccessLogEntry {
            peer,
            line: line.bytes().map(char::from).collect(),
            headers: extras(request.headers()),
        }
    }
}

/// The headers that are noted. Bytes are taken for Latin-1, as Mercurial takes them.
fn extras(headers: &HeaderMap) -> String {
    let extras = headers
        .iter()
        .filter(|(name, _)| name.as_str().starts_with("x-"));
    let mut extras: Vec<_> = extras.collect();
    extras.sort_by_key(|(name, _)| name.as_str());
    let mut text = String::new();
    for (name, value) in extras {
        text.push_str(&format!(" {name}:"));
        text.extend(value.as_bytes().iter().copied().map(char::from));
    }
    text
}

impl AccessLog {
    /// Starts the writer; its own faults go to `log`.
    ///
    /// # Errors
    /// [`ServerError::Threads`].
    pub(crate) fn start(
        AccessLogOutput { out, zone }: AccessLogOutput,
        log: Log,
    ) -> Result<AccessLog, ServerError> {
        let (sender, receiver) = sync_channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&lost);
        let writer = std::thread::Builder::new().name("access log".to_owned());
        let writer = writer.spawn(move || write(&receiver, out, &counted, &log));
        let writer = writer.map_err(|source| ServerError::Threads { source })?;
        Ok(AccessLog {
            sender,
            lost,
            zone,
            writer: Mutex::new(Some(writer)),
        })
    }

    /// Notes a request whose answer begins now.
    pub(crate) fn note(&self, asked: &AccessLogEntry, status: StatusCode) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let time = since.map_or(0, |since| {
            i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
        });
        let zone = self.zone.west_at(time);
        let date = Date { time, zone }.format("%d/%b/%Y %H:%M:%S");
        let AccessLogEntry {
            peer,
            line,
            headers,
        } = asked;
        let status = status.as_u16();
        let line = format!("{peer} - - [{date}] \"{line}\" {status} -{headers}\n");
        if self.sender.try_send(Note::Line(line.into_bytes())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes the queued lines; later ones are lost.
    pub(crate) fn end(&self) {
        let mut writer = self.writer.lock();
        if let Some(writer) = writer.take() {
            // Both fail only if the writer is gone already.
            let _ = self.sender.send(Note::End);
            let _ = writer.join();
        }
    }
}

/// Writes lines until the end, or until nothing can be written any more.
fn write(receiver: &Receiver<Note>, mut out: impl Write, lost: &AtomicU64, log: &Log) {
    while let Ok(Note::Line(mut lines)) = receiver.recv() {
        let mut ended = false;
        while lines.len() < TOGETHER && !ended {
            match receiver.try_recv() {
                Ok(Note::Line(line)) => lines.extend_from_slice(&line),
                Ok(Note::End) => ended = true,
                Err(_) => break,
            }
        }
        if let Err(error) = out.write_all(&lines).and_then(|()| out.flush()) {
            log.scope(|| tracing::error!("the access log ends here: {error}"));
            return;
        }
        let missing = lost.swap(0, Ordering::Relaxed);
        if missing > 0 {
            log.scope(|| tracing::warn!("{missing} lines of the access log are lost"));
        }
        if ended {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::LogOutput;
    use std::io;
    use std::path::Path;
    use std::sync::mpsc::Sender;

    /// Hands on the written bytes, whenever the other side takes them.
    struct Slow(SyncSender<Vec<u8>>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let sent = self.0.send(bytes.to_vec());
            sent.map_err(|_| std::io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn asked() -> AccessLogEntry {
        let request = hyper::Request::get("/hg/a?cmd=heads")
            .header("X-HgProto-1", "0.1")
            .header("accept", "x")
            .header("x-hgarg-1", &b"a=\xe9"[..])
            .body(())
            .unwrap();
        AccessLogEntry::of("::1".parse().unwrap(), &request)
    }

    /// Sends each line of a log.
    #[derive(Debug)]
    struct Lines(Sender<String>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // The test may have seen enough.
            let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn access_log(out: Slow, zone: Zone, faults: LogOutput) -> AccessLog {
        let log = Log::open(&varve_config::Log::default(), Path::new(""), faults).unwrap();
        let out = Box::new(out);
        AccessLog::start(AccessLogOutput { out, zone }, log).unwrap()
    }

    #[test]
    fn a_line_has_what_mercurial_writes() {
        let (sender, receiver) = sync_channel(1);
        let log = access_log(Slow(sender), Zone::fixed_east(3600), LogOutput::Stderr);
        log.note(&asked(), StatusCode::NOT_FOUND);
        let line = String::from_utf8(receiver.recv().unwrap()).unwrap();
        let (begin, rest) = line.split_once('[').unwrap();
        let (date, rest) = rest.split_once("] ").unwrap();
        assert_eq!(begin, "::1 - - ");
        assert!(date.len() == 20 && date.contains("/20"), "{date}");
        let words = "\"GET /hg/a?cmd=heads HTTP/1.1\" 404 - x-hgarg-1:a=\u{e9} x-hgproto-1:0.1\n";
        assert_eq!(rest, words);
        log.end();
    }

    #[test]
    fn nobody_waits_for_a_slow_disk_and_what_is_lost_is_told() {
        let (sender, receiver) = sync_channel(0);
        let (told, hears) = std::sync::mpsc::channel();
        let faults = LogOutput::Writer(Box::new(Lines(told)));
        let log = access_log(Slow(sender), Zone::default(), faults);
        for _ in 0..2 * WAITING {
            log.note(&asked(), StatusCode::OK);
        }
        let reader = std::thread::spawn(move || receiver.iter().map(|lines| lines.len()).sum());
        let told = hears.recv().unwrap();
        let told = told.strip_prefix("varve: ").unwrap();
        let (lost, words) = told.split_once(' ').unwrap();
        assert_eq!(words, "lines of the access log are lost\n");
        log.end();
        drop(log);
        let written: usize = reader.join().unwrap();
        let one = "::1 - - [22/Nov/2026 05:26:00] \"GET /hg/a?cmd=heads HTTP/1.1\" 200 -".len()
            + " x-hgarg-1:a=\u{e9} x-hgproto-1:0.1\n".len();
        assert_eq!(written / one + lost.parse::<usize>().unwrap(), 2 * WAITING);
    }
}

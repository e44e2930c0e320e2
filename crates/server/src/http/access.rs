//! The log of requests. `hg serve` writes a line when an answer begins:
//!
//! ```text
//! PEER - - [DAY/MONTH/YEAR HOUR:MINUTE:SECOND] "METHOD TARGET VERSION" STATUS - HEADER:VALUE …
//! ```
//! with those headers whose names begin with `x-`, sorted. A server of a directory writes a line when an answer has
//! been sent or cut, in the combined format that web servers have, where a `-` stands for what there is not:
//!
//! ```text
//! PEER - USER [DAY/MONTH/YEAR:HOUR:MINUTE:SECOND ZONE] "METHOD TARGET VERSION" STATUS BYTES "REFERER" "USER-AGENT"
//! ```
//!
//! The time is that of the request; the bytes are those of the body, without framing. Lines are written by a thread of their own, so that no
//! request waits for a disk or a pipe. If the queue is full, lines are lost, and their number is logged when there is
//! room again.

use crate::ServerError;
use crate::runtime::LogFile;
use crate::runtime::log::Log;
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName, REFERER, USER_AGENT};
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
    pub out: AccessLogTarget,
    /// The zone of the times.
    pub zone: Zone,
    /// The form of the lines.
    pub format: AccessLogFormat,
}

/// The destination of the lines.
pub enum AccessLogTarget {
    /// A file that a signal makes the server open again.
    File(LogFile),
    /// Any other writer.
    Writer(Box<dyn Write + Send>),
}

/// The form of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessLogFormat {
    /// That of `hg serve`.
    Mercurial,
    /// The combined format of web servers, with the user and the size of the answer.
    Combined,
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
    format: AccessLogFormat,
    file: Option<LogFile>,
    log: Log,
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
    /// Those of the format, as they are written.
    headers: String,
    /// Seconds since 1970.
    time: i64,
    user: Option<String>,
}

/// A line that waits for the end of its answer.
#[derive(Debug)]
pub(crate) struct UnsentEntry {
    log: Arc<AccessLog>,
    entry: AccessLogEntry,
    status: StatusCode,
}

impl AccessLogEntry {
    fn of<B>(format: AccessLogFormat, peer: IpAddr, request: &hyper::Request<B>) -> AccessLogEntry {
        let (method, target) = (request.method(), request.uri());
        let line = format!("{method} {target} {:?}", request.version());
        let (line, headers) = match format {
            AccessLogFormat::Mercurial => (
                line.bytes().map(char::from).collect(),
                extras(request.headers()),
            ),
            AccessLogFormat::Combined => (
                escaped(line.as_bytes()),
                [REFERER, USER_AGENT]
                    .map(|name| named(request.headers(), &name))
                    .concat(),
            ),
        };
        AccessLogEntry {
            peer,
            line,
            headers,
            time: now(),
            user: None,
        }
    }

    /// Names the user once they are known.
    pub(crate) fn record_user(&mut self, name: Option<&str>) {
        self.user = name.map(|name| escaped(name.as_bytes()).replace(' ', "\\x20"));
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    })
}

/// Text that can neither end its quotes nor its line.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(byte)]),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text
}

/// A header as the combined format has it, behind a space.
fn named(headers: &HeaderMap, name: &HeaderName) -> String {
    let value = headers.get(name).map(|value| escaped(value.as_bytes()));
    format!(" \"{}\"", value.as_deref().unwrap_or("-"))
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
        AccessLogOutput { out, zone, format }: AccessLogOutput,
        log: Log,
    ) -> Result<AccessLog, ServerError> {
        let (out, file): (Box<dyn Write + Send>, _) = match out {
            AccessLogTarget::File(file) => (Box::new(file.clone()), Some(file)),
            AccessLogTarget::Writer(out) => (out, None),
        };
        let faults = log.clone();
        let (sender, receiver) = sync_channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&lost);
        let writer = std::thread::Builder::new().name("access log".to_owned());
        let writer = writer.spawn(move || write(&receiver, out, &counted, &faults));
        let writer = writer.map_err(|source| ServerError::Threads { source })?;
        Ok(AccessLog {
            sender,
            lost,
            zone,
            format,
            file,
            log,
            writer: Mutex::new(Some(writer)),
        })
    }

    /// Begins the line of a request.
    pub(crate) fn begin<B>(&self, peer: IpAddr, request: &hyper::Request<B>) -> AccessLogEntry {
        AccessLogEntry::of(self.format, peer, request)
    }

    /// The answer begins now. Gives the line back if it waits for the end of the answer.
    pub(crate) fn begin_answer(
        self: &Arc<AccessLog>,
        entry: AccessLogEntry,
        status: StatusCode,
    ) -> Option<UnsentEntry> {
        match self.format {
            AccessLogFormat::Mercurial => {
                let (date, status) = (self.date(now(), "%d/%b/%Y %H:%M:%S"), status.as_u16());
                let AccessLogEntry {
                    peer,
                    line,
                    headers,
                    ..
                } = entry;
                self.write_line(format!(
                    "{peer} - - [{date}] \"{line}\" {status} -{headers}\n"
                ));
                None
            }
            AccessLogFormat::Combined => Some(UnsentEntry {
                log: Arc::clone(self),
                entry,
                status,
            }),
        }
    }

    fn date(&self, time: i64, format: &str) -> String {
        let zone = self.zone.west_at(time);
        Date { time, zone }.format(format)
    }

    /// Opens the log's file again by its name, as it may have been renamed.
    pub(crate) fn reopen(&self) {
        if let Some(file) = &self.file {
            self.log.reopen_file(file);
        }
    }

    fn write_line(&self, line: String) {
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

impl UnsentEntry {
    /// The answer has ended, after so many bytes of its body.
    pub(crate) fn end(self, bytes: u64) {
        let UnsentEntry { log, entry, status } = self;
        let date = log.date(entry.time, "%d/%b/%Y:%H:%M:%S %z");
        let AccessLogEntry {
            peer,
            line,
            headers,
            user,
            ..
        } = entry;
        let (user, status) = (user.as_deref().unwrap_or("-"), status.as_u16());
        log.write_line(format!(
            "{peer} - {user} [{date}] \"{line}\" {status} {bytes}{headers}\n"
        ));
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

    fn asked(log: &AccessLog) -> AccessLogEntry {
        let request = hyper::Request::get("/hg/a?cmd=heads")
            .header("X-HgProto-1", "0.1")
            .header("accept", "x")
            .header("user-agent", "a \"b\"")
            .header("x-hgarg-1", &b"a=\xe9"[..])
            .body(())
            .unwrap();
        log.begin("::1".parse().unwrap(), &request)
    }

    fn note(log: &Arc<AccessLog>, status: StatusCode) {
        assert!(log.begin_answer(asked(log), status).is_none());
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

    fn access_log(out: Slow, zone: Zone, faults: LogOutput) -> Arc<AccessLog> {
        of_format(AccessLogFormat::Mercurial, out, zone, faults)
    }

    fn of_format(
        format: AccessLogFormat,
        out: Slow,
        zone: Zone,
        faults: LogOutput,
    ) -> Arc<AccessLog> {
        let log = Log::open(&varve_config::Log::default(), Path::new(""), faults).unwrap();
        let out = AccessLogTarget::Writer(Box::new(out));
        Arc::new(AccessLog::start(AccessLogOutput { out, zone, format }, log).unwrap())
    }

    #[test]
    fn a_combined_line_has_user_and_size_and_cannot_be_broken() {
        let (sender, receiver) = sync_channel(1);
        let (format, zone) = (AccessLogFormat::Combined, Zone::fixed_east(3600));
        let log = of_format(format, Slow(sender), zone, LogOutput::Stderr);
        for (user, written) in [
            (None, "-"),
            (Some("a b\"\n\u{e9}"), "a\\x20b\\\"\\x0a\\xc3\\xa9"),
        ] {
            let mut entry = asked(&log);
            entry.record_user(user);
            log.begin_answer(entry, StatusCode::OK).unwrap().end(1234);
            let line = String::from_utf8(receiver.recv().unwrap()).unwrap();
            let (begin, rest) = line.split_once('[').unwrap();
            let (date, rest) = rest.split_once("] ").unwrap();
            assert_eq!(begin, format!("::1 - {written} "));
            assert!(date.len() == 26 && date.ends_with(" +0100"), "{date}");
            let words = "\"GET /hg/a?cmd=heads HTTP/1.1\" 200 1234 \"-\" \"a \\\"b\\\"\"\n";
            assert_eq!(rest, words);
        }
        log.end();
    }

    #[test]
    fn a_line_has_what_mercurial_writes() {
        let (sender, receiver) = sync_channel(1);
        let log = access_log(Slow(sender), Zone::fixed_east(3600), LogOutput::Stderr);
        note(&log, StatusCode::NOT_FOUND);
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
    fn requests_do_not_wait_for_a_slow_disk_and_lost_lines_are_counted() {
        let (sender, receiver) = sync_channel(0);
        let (told, hears) = std::sync::mpsc::channel();
        let faults = LogOutput::Writer(Box::new(Lines(told)));
        let log = access_log(Slow(sender), Zone::default(), faults);
        for _ in 0..2 * WAITING {
            note(&log, StatusCode::OK);
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

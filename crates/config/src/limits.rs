//! `[limits]` and `[chttpd] max_connections`: how much of the server its clients may hold, and for how long.

use crate::{ConfigError, Ini, Setting};
use std::time::Duration;

/// The largest count that a limit may have.
const MOST: i64 = 1_000_000_000;
/// Least room for the answer and for the body of one client.
const LEAST_BUFFER: u64 = 4 << 10;

/// Limits of the resources that clients may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `[chttpd]` or `[httpd] max_connections`: default 16,384.
    pub connections: usize,
    /// `connections_per_address`: an IPv4 address, or the first 64 bits of an IPv6 address; default 8,192.
    pub connections_per_address: usize,
    /// `streams`: requests at a time over one HTTP/2 connection; default 256.
    pub streams: usize,
    /// `reads`: requests for documents, lists and feeds that wait for their answer; default 8,192.
    pub reads: usize,
    /// `writes`: requests that change a database or the server; default 4,096.
    pub writes: usize,
    /// `queries`: requests to views and `_find`, which may wait for an index; default 8,192.
    pub queries: usize,
    /// `exchanges`: requests to repositories; default 4,096.
    pub exchanges: usize,
    /// `head_timeout`: from the first byte of a request to the end of its head; default 60 s.
    pub head_timeout: Duration,
    /// `body_timeout`: how long a body may pause, and how long it may take beyond `body_rate`; default 60 s.
    pub body_timeout: Duration,
    /// `body_rate`: bytes a second that a body must have on average; default 1 KiB.
    pub body_rate: u64,
    /// `idle_timeout`: between two requests of a connection; default 60 s.
    pub idle_timeout: Duration,
    /// `write_timeout`: how long a client may take nothing of its answer; default 60 s.
    pub write_timeout: Duration,
    /// `answer_buffer`: the next piece of an answer, of some 24 KiB, is asked for when fewer bytes than these wait for
    /// the client to take them; default 16 KiB.
    pub answer_buffer: u64,
    /// `body_buffer`: bytes of a body of several parts, or of a push, that wait in memory for the rest of
    /// it; more are written to an unnamed file. Default 256 KiB.
    pub body_buffer: u64,
    /// `json_body`: bytes of a JSON body as it is parsed, and bytes of the values that it becomes; default 64 MiB.
    pub json_body: u64,
    /// `body_memory`: bytes of bodies of all requests that are in memory at a time; default 512 MiB.
    pub body_memory: u64,
    /// `list_output`: bytes that a list function of a design document may make, which wait in an unnamed file for the
    /// client; default 4 GiB.
    pub list_output: u64,
    /// `logins`: different names and passwords that wait to be checked; default 64.
    pub logins: usize,
    /// `logins_per_address`: of one IPv4 address, or of the first 64 bits of an IPv6 address; default 8.
    pub logins_per_address: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        let minute = Duration::from_secs(60);
        Limits {
            connections: 16_384,
            connections_per_address: 8192,
            streams: 256,
            reads: 8192,
            writes: 4096,
            queries: 8192,
            exchanges: 4096,
            head_timeout: minute,
            body_timeout: minute,
            body_rate: 1 << 10,
            idle_timeout: minute,
            write_timeout: minute,
            answer_buffer: 16 << 10,
            body_buffer: 256 << 10,
            json_body: 64 << 20,
            body_memory: 512 << 20,
            list_output: 4 << 30,
            logins: 64,
            logins_per_address: 8,
        }
    }
}

pub(crate) fn read(ini: &Ini) -> Result<Limits, ConfigError> {
    let usual = Limits::default();
    let of = |key| ini.get("limits", key);
    let connections = ini.get("chttpd", "max_connections");
    let connections = connections.or_else(|| ini.get("httpd", "max_connections"));
    let time = |key, usual| of(key).map_or(Ok(usual), Setting::seconds);
    let room = |key, usual| of(key).map_or(Ok(usual), buffer);
    Ok(Limits {
        connections: count(connections, usual.connections)?,
        connections_per_address: count(
            of("connections_per_address"),
            usual.connections_per_address,
        )?,
        streams: count(of("streams"), usual.streams)?,
        reads: count(of("reads"), usual.reads)?,
        writes: count(of("writes"), usual.writes)?,
        queries: count(of("queries"), usual.queries)?,
        exchanges: count(of("exchanges"), usual.exchanges)?,
        head_timeout: time("head_timeout", usual.head_timeout)?,
        body_timeout: time("body_timeout", usual.body_timeout)?,
        body_rate: of("body_rate").map_or(Ok(usual.body_rate), Setting::size)?,
        idle_timeout: time("idle_timeout", usual.idle_timeout)?,
        write_timeout: time("write_timeout", usual.write_timeout)?,
        answer_buffer: room("answer_buffer", usual.answer_buffer)?,
        body_buffer: room("body_buffer", usual.body_buffer)?,
        json_body: room("json_body", usual.json_body)?,
        body_memory: room("body_memory", usual.body_memory)?,
        list_output: room("list_output", usual.list_output)?,
        logins: count(of("logins"), usual.logins)?,
        logins_per_address: count(of("logins_per_address"), usual.logins_per_address)?,
    })
}

/// A number from 1 on, or `infinity`.
fn count(setting: Option<&Setting>, usual: usize) -> Result<usize, ConfigError> {
    let Some(setting) = setting else {
        return Ok(usual);
    };
    if setting.value.eq_ignore_ascii_case("infinity") {
        return Ok(usize::MAX);
    }
    let number = setting.value.parse().ok();
    let number = number.filter(|number| (1..=MOST).contains(number));
    let number = number.and_then(|number| usize::try_from(number).ok());
    number.ok_or_else(|| setting.refuse(format_args!("a number from 1 to {MOST}, or infinity")))
}

fn buffer(setting: &Setting) -> Result<u64, ConfigError> {
    let size = setting.size()?;
    match size >= LEAST_BUFFER {
        true => Ok(size),
        false => Err(setting.refuse("a size of 4kb or more")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use std::path::Path;

    fn limits(text: &str) -> Result<Limits, String> {
        let ini = Ini::parse(Path::new("varve.ini"), text).unwrap();
        let settings = Settings::read(&ini).map_err(|error| error.to_string())?;
        Ok(settings.limits)
    }

    #[test]
    fn every_limit_has_a_default_and_a_setting() {
        assert_eq!(limits(""), Ok(Limits::default()));
        let text = "[chttpd]\nmax_connections = 1\n[limits]\nconnections_per_address = infinity\n\
                    reads = 2\nwrites = 3\nqueries = 4\nexchanges = 5\nhead_timeout = 6\n\
                    body_timeout = 7\nbody_rate = 8kb\nidle_timeout = 9\nwrite_timeout = 10\n\
                    answer_buffer = 4kb\nbody_buffer = 1mb\njson_body = 2mb\nbody_memory = 3mb\nlist_output = 4mb\n\
                    streams = 13\nlogins = 11\nlogins_per_address = 12\n";
        let seconds = Duration::from_secs;
        let expected = Limits {
            connections: 1,
            connections_per_address: usize::MAX,
            streams: 13,
            reads: 2,
            writes: 3,
            queries: 4,
            exchanges: 5,
            head_timeout: seconds(6),
            body_timeout: seconds(7),
            body_rate: 8 << 10,
            idle_timeout: seconds(9),
            write_timeout: seconds(10),
            answer_buffer: 4 << 10,
            body_buffer: 1 << 20,
            json_body: 2 << 20,
            body_memory: 3 << 20,
            list_output: 4 << 20,
            logins: 11,
            logins_per_address: 12,
        };
        assert_eq!(limits(text), Ok(expected));
        let older = limits("[httpd]\nmax_connections = 2048\n").unwrap();
        assert_eq!(older.connections, 2048);
    }

    #[test]
    fn limits_that_would_let_no_client_in_are_refused() {
        let counts = "a number from 1 to 1000000000, or infinity";
        for (section, key, value, expected) in [
            ("chttpd", "max_connections", "0", counts),
            ("httpd", "max_connections", "many", counts),
            ("limits", "connections_per_address", "-1", counts),
            ("limits", "reads", "1.5", counts),
            ("limits", "exchanges", "2000000000", counts),
            (
                "limits",
                "write_timeout",
                "0",
                "a number of seconds from 1 on",
            ),
            (
                "limits",
                "idle_timeout",
                "1m",
                "a number of seconds from 1 on",
            ),
            ("limits", "body_rate", "fast", "a size such as 8mb"),
            ("limits", "answer_buffer", "1kb", "a size of 4kb or more"),
            ("limits", "body_buffer", "0", "a size of 4kb or more"),
        ] {
            let told = limits(&format!("[{section}]\n{key} = {value}\n")).unwrap_err();
            let words = format!("varve.ini:2: {section}.{key} must be {expected}, not {value:?}");
            assert_eq!(told, words);
        }
        let told = limits("[limits]\nwrite_timout = 1\n").unwrap_err();
        assert!(
            told.ends_with("did you mean limits.write_timeout?"),
            "{told}"
        );
    }
}

//! `[log]`: which lines the server writes, how they look, and where they go.

use crate::{ConfigError, Ini, Setting};
use std::path::PathBuf;

/// Parts of the server that can have a level of their own, as `level.PART`.
pub const LOG_PARTS: [&str; 6] = ["auth", "couch", "hg", "http", "runtime", "site"];

/// The least severe lines that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// No line at all.
    Off,
    /// Faults of the server and its files.
    Error,
    /// Events that an operator should look at.
    Warn,
    /// One line for each answered request.
    Info,
    /// Background work of the server, too.
    Debug,
    /// Everything.
    Trace,
}

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Plain,
    /// One JSON object for each line.
    Json,
}

/// CouchDB's name of a file that has none.
const COUCHDB_FILE: &str = "couch.log";

/// The server's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// `level`; default `warn`.
    pub level: LogLevel,
    /// `level.PART`, for parts of [`LOG_PARTS`].
    pub parts: Vec<(&'static str, LogLevel)>,
    /// `format`; default `plain`.
    pub format: LogFormat,
    /// `file`: lines are appended here instead of on the standard error, unless `writer` is `stderr`. Relative to the
    /// served directory.
    pub file: Option<PathBuf>,
}

impl Default for Log {
    fn default() -> Log {
        Log {
            level: LogLevel::Warn,
            parts: Vec::new(),
            format: LogFormat::Plain,
            file: None,
        }
    }
}

pub(crate) fn read(ini: &Ini) -> Result<Log, ConfigError> {
    let mut log = Log::default();
    if let Some(setting) = ini.get("log", "level") {
        log.level = level(setting)?;
    }
    for part in LOG_PARTS {
        if let Some(setting) = ini.get("log", &format!("level.{part}")) {
            log.parts.push((part, level(setting)?));
        }
    }
    if let Some(setting) = ini.get("log", "format") {
        log.format = match setting.value.as_str() {
            "plain" => LogFormat::Plain,
            "json" => LogFormat::Json,
            _ => return Err(setting.refuse("plain or json")),
        };
    }
    let file = ini.get("log", "file").filter(|file| !file.value.is_empty());
    let file = file.map(|file| PathBuf::from(&file.value));
    log.file = match ini.get("log", "writer") {
        None => file,
        Some(writer) => match writer.value.as_str() {
            "" => file,
            "file" => Some(file.unwrap_or_else(|| PathBuf::from(COUCHDB_FILE))),
            "stderr" => None,
            _ => return Err(writer.refuse("stderr or file")),
        },
    };
    Ok(log)
}

/// CouchDB's names of levels are taken too.
fn level(setting: &Setting) -> Result<LogLevel, ConfigError> {
    match setting.value.as_str() {
        "off" | "none" => Ok(LogLevel::Off),
        "error" | "err" | "critical" | "crit" | "alert" | "emergency" | "emerg" => {
            Ok(LogLevel::Error)
        }
        "warn" | "warning" => Ok(LogLevel::Warn),
        "info" | "notice" => Ok(LogLevel::Info),
        "debug" => Ok(LogLevel::Debug),
        "trace" => Ok(LogLevel::Trace),
        _ => Err(setting.refuse("off, error, warn, info, debug or trace")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn log(text: &str) -> Result<Log, String> {
        let ini = Ini::parse(Path::new("varve.ini"), text).unwrap();
        read(&ini).map_err(|error| error.to_string())
    }

    #[test]
    fn levels_are_set_for_all_and_for_parts() {
        assert_eq!(log(""), Ok(Log::default()));
        let text = "[log]\nlevel = notice\nlevel.hg = debug\nlevel.auth = none\nformat = json\nfile = log/v\n";
        let expected = Log {
            level: LogLevel::Info,
            parts: vec![("auth", LogLevel::Off), ("hg", LogLevel::Debug)],
            format: LogFormat::Json,
            file: Some("log/v".into()),
        };
        assert_eq!(log(text), Ok(expected));
    }

    #[test]
    fn unknown_levels_and_formats_are_refused() {
        let said = log("[log]\nlevel.couch = loud").unwrap_err();
        let words = "log.level.couch must be off, error, warn, info, debug or trace, not \"loud\"";
        assert_eq!(said, format!("varve.ini:2: {words}"));
        let said = log("[log]\nformat = xml").unwrap_err();
        assert_eq!(
            said,
            "varve.ini:2: log.format must be plain or json, not \"xml\""
        );
    }
}

//! Limits of functions in design documents, in CouchDB's words: `[couchdb] os_process_timeout`, `[quickjs]`,
//! `[query_server_config]`, and those of rewrites in `[chttpd]`.

use crate::{ConfigError, Ini, Setting};
use std::time::Duration;

/// Limits of functions in JavaScript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Functions {
    /// `[couchdb] os_process_timeout`: how long one call may take; default 5,000 ms.
    pub time: Duration,
    /// `[quickjs] memory_limit_bytes`: bytes that each engine may hold; default 64 MiB.
    pub memory: usize,
    /// `[query_server_config] reduce_limit`: whether reduces must reduce; default true.
    pub reduce_limit: bool,
    /// `[query_server_config] partition_query_limit`: the most rows of a query of a partition; default 2^28.
    pub partition_query_limit: u64,
    /// `[views] skip_failed`: whether documents for which map functions pass a limit are left out; default false.
    pub skip_failed: bool,
    /// `[chttpd] secure_rewrites`: whether `_rewrite` stays in its database; default true.
    pub secure_rewrites: bool,
    /// `[chttpd] rewrite_limit`: how often a request may be rewritten; default 100.
    pub rewrite_limit: u32,
}

/// Milliseconds of a call: an engine needs some to start, and a day is the most.
const TIMES: std::ops::RangeInclusive<u64> = 100..=86_400_000;
/// How often a request may be rewritten at most.
const MOST_REWRITES: u32 = 1000;
/// An engine needs some of it for itself.
const LEAST_MEMORY: u64 = 4 << 20;

pub(crate) fn read(ini: &Ini) -> Result<Functions, ConfigError> {
    let time = ini.get("couchdb", "os_process_timeout");
    let memory = ini.get("quickjs", "memory_limit_bytes");
    let limit = ini.get("query_server_config", "reduce_limit");
    let rows = ini.get("query_server_config", "partition_query_limit");
    let skip = ini.get("views", "skip_failed");
    let httpd = |key| ini.get("chttpd", key).or_else(|| ini.get("httpd", key));
    let (secure, rewrites) = (httpd("secure_rewrites"), httpd("rewrite_limit"));
    Ok(Functions {
        time: time.map_or(Ok(Duration::from_secs(5)), duration)?,
        memory: memory.map_or(Ok(64 << 20), bytes)?,
        reduce_limit: limit.map_or(Ok(true), reduces)?,
        partition_query_limit: rows.map_or(Ok(1 << 28), row_count)?,
        skip_failed: skip.map_or(Ok(false), Setting::boolean)?,
        secure_rewrites: secure.map_or(Ok(true), Setting::boolean)?,
        rewrite_limit: rewrites.map_or(Ok(100), count)?,
    })
}

fn count(setting: &Setting) -> Result<u32, ConfigError> {
    let count = setting.value.parse().ok();
    let count = count.filter(|count| *count <= MOST_REWRITES);
    count.ok_or_else(|| setting.refuse(format_args!("a number from 0 to {MOST_REWRITES}")))
}

fn duration(setting: &Setting) -> Result<Duration, ConfigError> {
    let time = setting.value.parse().ok();
    let time = time.filter(|milliseconds| TIMES.contains(milliseconds));
    let (low, high) = TIMES.into_inner();
    time.map(Duration::from_millis).ok_or_else(|| {
        setting.refuse(format_args!(
            "a number of milliseconds from {low} to {high}"
        ))
    })
}

fn bytes(setting: &Setting) -> Result<usize, ConfigError> {
    let size = setting.size()?;
    if size < LEAST_MEMORY {
        return Err(setting.refuse("a size of 4mb or more"));
    }
    // More than can be addressed is as good as no bound.
    Ok(usize::try_from(size).unwrap_or(usize::MAX))
}

fn row_count(setting: &Setting) -> Result<u64, ConfigError> {
    let count = setting.value.parse();
    count.map_err(|_| setting.refuse("a number of rows"))
}

/// `log` lets them grow too: CouchDB logs growing reduces, this server does not.
fn reduces(setting: &Setting) -> Result<bool, ConfigError> {
    match setting.value.as_str() {
        "log" => Ok(false),
        _ => setting.boolean(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn functions(text: &str) -> Result<Functions, String> {
        let ini = Ini::parse(Path::new("varve.ini"), text).unwrap();
        read(&ini).map_err(|error| error.to_string())
    }

    #[test]
    fn functions_have_couchdb_s_limits_by_default() {
        let usual = Functions {
            time: Duration::from_secs(5),
            memory: 64 << 20,
            reduce_limit: true,
            partition_query_limit: 268_435_456,
            skip_failed: false,
            secure_rewrites: true,
            rewrite_limit: 100,
        };
        assert_eq!(functions(""), Ok(usual));
        let text = "[couchdb]\nos_process_timeout = 60000\n[quickjs]\nmemory_limit_bytes = 128mb\n\
                    [query_server_config]\nreduce_limit = log\npartition_query_limit = 20\n\
                    [views]\nskip_failed = true\n[chttpd]\nsecure_rewrites = false\nrewrite_limit = 2\n";
        let other = Functions {
            time: Duration::from_secs(60),
            memory: 128 << 20,
            reduce_limit: false,
            partition_query_limit: 20,
            skip_failed: true,
            secure_rewrites: false,
            rewrite_limit: 2,
        };
        assert_eq!(functions(text), Ok(other));
    }

    #[test]
    fn limits_that_no_function_could_keep_are_refused() {
        for (text, words) in [
            (
                "[couchdb]\nos_process_timeout = 99",
                "couchdb.os_process_timeout must be a number of milliseconds from 100 to 86400000",
            ),
            (
                "[couchdb]\nos_process_timeout = infinity",
                "couchdb.os_process_timeout must be a number of milliseconds from 100 to 86400000",
            ),
            (
                "[quickjs]\nmemory_limit_bytes = 1mb",
                "quickjs.memory_limit_bytes must be a size of 4mb or more",
            ),
            (
                "[chttpd]\nrewrite_limit = 1001",
                "chttpd.rewrite_limit must be a number from 0 to 1000",
            ),
            (
                "[query_server_config]\npartition_query_limit = few",
                "query_server_config.partition_query_limit must be a number of rows",
            ),
            (
                "[query_server_config]\nreduce_limit = some",
                "query_server_config.reduce_limit must be true or false",
            ),
        ] {
            let said = functions(text).unwrap_err();
            let found = text.rsplit(' ').next().unwrap();
            assert_eq!(said, format!("varve.ini:2: {words}, not {found:?}"));
        }
    }
}

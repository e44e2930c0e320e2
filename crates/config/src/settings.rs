//! Settings of a server, typed and checked as a whole before anything starts.

use crate::hg_server::{HgServer, hg_server};
use crate::setting::{level, or};
use crate::{
    Answers, ConfigError, Cors, Csp, Functions, History, Ini, Jwt, Ken, Limits, Lockout, Log,
    Passwords, PerUser, Replicator, Requests, Sessions, Setting, Smoosh, Trust, Uuids, answers,
    cors, csp, functions, history, jwt, ken, known, limits, lockout, log, passwords, per_user,
    replicator, requests, sessions, shared, smoosh, trust, uuids, varve,
};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// The longest time in milliseconds that a commit may wait for its sync.
const LONGEST_INTERVAL: u64 = 60_000;
/// Each is a file that may be open.
const MOST_FILTER_INDEXES: i64 = 100;

/// All settings of one served directory.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Names of settings that are accepted without an effect, section and key with a dot between them.
    pub idle: Vec<String>,
    /// `[chttpd] bind_address`; default 127.0.0.1.
    pub bind_address: IpAddr,
    /// `[chttpd] port`; default 5984, 0 takes any free one.
    pub port: u16,
    /// `[chttpd]` or `[httpd] max_http_request_size`: bytes of a request's body; default 4 GiB.
    pub max_request_size: u64,
    /// `[chttpd] require_valid_user` and `require_valid_user_except_for_up`.
    pub required_user: RequiredUser,
    /// `[chttpd] admin_only_all_dbs`: whether only admins get the list of databases; default true.
    pub admin_only_all_dbs: bool,
    /// `[couchdb] single_node`: whether `_users` is made at the start; default true.
    pub single_node: bool,
    /// `[couchdb] file_compression` as written; the codec table gives it its meaning.
    pub file_compression: Option<Setting>,
    /// `[couchdb] durability`: how long a commit may wait for its sync; `None`, the default, if it
    /// may not.
    pub sync_interval: Option<Duration>,
    /// `[couchdb] max_dbs_open`: files of databases and indexes that are kept open; default 400.
    pub max_dbs_open: u64,
    /// `[couchdb] users_db_security_editable`: whether `_users` may get a security object; default
    /// false.
    pub users_security_editable: bool,
    /// `[couchdb] cache_size`: bytes of memory for the tree nodes of all databases and views; default
    /// 96 MiB.
    pub cache_size: u64,
    /// `[couchdb] max_partition_size`: bytes of a partition's documents before compression, from which on it takes no
    /// more; default 10 GiB, 0 for no limit.
    pub max_partition_size: u64,
    /// `[couchdb] max_document_size`: bytes of a document's JSON; default 8,000,000.
    pub max_document_size: u64,
    /// `[couchdb] max_attachment_size`: bytes; default 1 GiB.
    pub max_attachment_size: u64,
    /// `[couchdb] max_attachments_per_doc`; default infinity.
    pub max_attachments_per_doc: u64,
    /// `[attachments]`: how they are stored.
    pub attachments: Attachments,
    /// `[couchdb] uuid`: the server's identity.
    pub uuid: Option<String>,
    /// `[couchdb] maintenance_mode`: what `/_up` tells load balancers; default none.
    pub maintenance: Maintenance,
    /// `[chttpd] WWW-Authenticate`: sent with refusals for want of a login.
    pub www_authenticate: Option<String>,
    /// `[chttpd] config_whitelist`: the only settings that may be changed over HTTP, unless it is empty.
    pub changeable: Option<String>,
    /// How requests are read and bounded.
    pub requests: Requests,
    /// How answers leave the server.
    pub answers: Answers,
    /// `[uuids]`.
    pub uuids: Uuids,
    /// `[smoosh]`: when databases are compacted by themselves.
    pub smoosh: Smoosh,
    /// `[ken]`: which indexes are kept up to date behind writes.
    pub ken: Ken,
    /// `[shared] collect_every`: time between two removals of what a shared store need not keep.
    pub collect_every: Option<Duration>,
    /// `[shared] copies_limit`: bytes of local copies that nothing uses, at most.
    pub copies_limit: Option<u64>,
    /// Repositories as databases.
    pub history: History,
    /// Limits of the server's resources that clients may hold, and for how long.
    pub limits: Limits,
    /// Limits of functions in JavaScript.
    pub functions: Functions,
    /// `[log]`.
    pub log: Log,
    /// `[fabric] request_timeout`: how long a query waits for its index; default 60 s, `None` for ever.
    pub request_timeout: Option<Duration>,
    /// `[varve] shutdown_timeout`: how long running answers may take when the server stops; default 10 s.
    pub shutdown_timeout: Duration,
    /// `[compaction]`: how databases are compacted.
    pub compaction: Compaction,
    /// `[views] compile`: whether simple map functions run without a JavaScript engine; default true.
    pub compile_maps: bool,
    /// `[views] filter_indexes`: the most indexes of `_changes` filters that a database keeps; default 8.
    pub filter_indexes: usize,
    /// `[views] filter_index_after`: of how many changes a filter is asked before it gets an index; default 10,000.
    pub filter_index_after: u64,
    /// `[admins]`: name and password, plain or hashed, each with its place.
    pub admins: Vec<Setting>,
    /// Cookies.
    pub sessions: Sessions,
    /// Which passwords users may have, and how they are stored.
    pub passwords: Passwords,
    /// Logins by JSON Web Tokens.
    pub jwt: Jwt,
    /// Lockout of users after failed logins.
    pub lockout: Lockout,
    /// A database for each user.
    pub per_user: PerUser,
    /// Jobs of replication.
    pub replicator: Replicator,
    /// `[chttpd] trusted_proxies` and `allowed_hosts`.
    pub trust: Trust,
    /// `[chttpd] enable_cors` with `[cors]`; `None` if it is off.
    pub cors: Option<Cors>,
    /// `[csp]`: policies for pages that hold what others have sent.
    pub csp: Csp,
    /// `[server]` and `[storage]`, as Mercurial's servers know them.
    pub hg: HgServer,
}

/// `[couchdb] maintenance_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maintenance {
    /// `false`: the server takes part.
    Off,
    /// `true`: load balancers leave it out.
    On,
    /// `nolb`: the same, said in another way.
    NoLoadBalancing,
}

/// Which requests are answered without a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredUser {
    /// All that the rights allow.
    No,
    /// Attempts to log in.
    Yes,
    /// Those, and `/_up`.
    ExceptForUp,
}

/// `[attachments]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachments {
    /// `compressible_types`: types that are stored as gzip; `*` stands for any characters.
    pub compressible_types: Option<Vec<String>>,
    /// `compression_level`: 1 to 9, or 0 for none at all.
    pub compression_level: Option<u8>,
}

/// `[compaction]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// `share`: percent of the time in which one works while requests come; default 20.
    pub share: u32,
    /// `in_place_from`: bytes that a database needs from which it may be compacted in place;
    /// default 64 MiB.
    pub in_place_from: u64,
}

impl Settings {
    /// Types and checks everything in the file.
    ///
    /// # Errors
    /// The first [`ConfigError`] found.
    pub fn read(ini: &Ini) -> Result<Settings, ConfigError> {
        let idle = known::check(ini)?;
        let chttpd = |key| ini.get("chttpd", key);
        let couchdb = |key| ini.get("couchdb", key);
        let httpd = |key| chttpd(key).or_else(|| ini.get("httpd", key));
        Ok(Settings {
            idle,
            bind_address: or(chttpd("bind_address"), address, Ipv4Addr::LOCALHOST.into())?,
            port: or(chttpd("port"), port, 5984)?,
            max_request_size: or(httpd("max_http_request_size"), Setting::size, 4 << 30)?,
            required_user: required_user(ini)?,
            admin_only_all_dbs: or(chttpd("admin_only_all_dbs"), Setting::boolean, true)?,
            single_node: or(couchdb("single_node"), Setting::boolean, true)?,
            file_compression: couchdb("file_compression").cloned(),
            sync_interval: or(couchdb("durability"), durability, None)?,
            max_dbs_open: or(couchdb("max_dbs_open"), |s| s.number(1..=1_000_000), 400)?
                .unsigned_abs(),
            users_security_editable: or(
                couchdb("users_db_security_editable"),
                Setting::boolean,
                false,
            )?,
            cache_size: or(couchdb("cache_size"), Setting::size, 96 << 20)?,
            max_partition_size: or(couchdb("max_partition_size"), Setting::size, 10 << 30)?,
            max_document_size: or(couchdb("max_document_size"), Setting::size, 8_000_000)?,
            max_attachment_size: or(couchdb("max_attachment_size"), Setting::size, 1 << 30)?,
            max_attachments_per_doc: or(couchdb("max_attachments_per_doc"), count, u64::MAX)?,
            attachments: attachments(ini)?,
            filter_index_after: or(ini.get("views", "filter_index_after"), changes, 10_000)?,
            filter_indexes: or(ini.get("views", "filter_indexes"), filter_indexes, 8)?,
            compile_maps: or(ini.get("views", "compile"), Setting::boolean, true)?,
            uuid: couchdb("uuid").map(|setting| setting.value.clone()),
            maintenance: or(couchdb("maintenance_mode"), maintenance, Maintenance::Off)?,
            www_authenticate: httpd("WWW-Authenticate")
                .map(Setting::header_value)
                .transpose()?,
            changeable: httpd("config_whitelist").map(|setting| setting.value.clone()),
            requests: requests::read(ini)?,
            answers: answers::read(ini)?,
            uuids: uuids::read(ini)?,
            smoosh: smoosh::read(ini)?,
            ken: ken::read(ini)?,
            collect_every: shared::collect_every(ini)?,
            copies_limit: shared::copies_limit(ini)?,
            history: history::read(ini)?,
            limits: limits::read(ini)?,
            functions: functions::read(ini)?,
            log: log::read(ini)?,
            request_timeout: or(
                ini.get("fabric", "request_timeout"),
                timeout,
                Some(Duration::from_secs(60)),
            )?,
            shutdown_timeout: varve::shutdown_timeout(ini)?,
            compaction: compaction(ini)?,
            admins: ini.section("admins").into_iter().cloned().collect(),
            sessions: sessions::read(ini)?,
            passwords: passwords::read(ini)?,
            jwt: jwt::read(ini)?,
            lockout: lockout::read(ini)?,
            per_user: per_user::read(ini)?,
            replicator: replicator::read(ini)?,
            trust: trust::read(ini)?,
            cors: cors::read(ini)?,
            csp: csp::read(ini)?,
            hg: hg_server(ini)?,
        })
    }
}

fn changes(setting: &Setting) -> Result<u64, ConfigError> {
    let number = setting.number(1..=i64::MAX)?;
    Ok(number.unsigned_abs())
}

fn filter_indexes(setting: &Setting) -> Result<usize, ConfigError> {
    let number = setting.number(0..=MOST_FILTER_INDEXES)?;
    Ok(usize::try_from(number).unwrap_or_default())
}

fn address(setting: &Setting) -> Result<IpAddr, ConfigError> {
    let address = bind_address(&setting.value);
    address.ok_or_else(|| setting.refuse("an IP address such as 127.0.0.1"))
}

/// An address to listen on: `any`, `localhost`, or an IP address.
pub fn bind_address(text: &str) -> Option<IpAddr> {
    match text {
        "any" => Some(Ipv4Addr::UNSPECIFIED.into()),
        "localhost" => Some(Ipv4Addr::LOCALHOST.into()),
        text => text.trim_matches(['[', ']']).parse().ok(),
    }
}

/// In any of the sections in which CouchDB reads it.
fn required_user(ini: &Ini) -> Result<RequiredUser, ConfigError> {
    let is_set = |key| {
        let mut is_set = false;
        for section in ["chttpd", "chttpd_auth", "couch_httpd_auth"] {
            is_set |= or(ini.get(section, key), Setting::boolean, false)?;
        }
        Ok(is_set)
    };
    let for_all = is_set("require_valid_user")?;
    Ok(
        match (is_set("require_valid_user_except_for_up")?, for_all) {
            (true, _) => RequiredUser::ExceptForUp,
            (false, true) => RequiredUser::Yes,
            (false, false) => RequiredUser::No,
        },
    )
}

fn maintenance(setting: &Setting) -> Result<Maintenance, ConfigError> {
    match setting.value.as_str() {
        "true" => Ok(Maintenance::On),
        "false" => Ok(Maintenance::Off),
        "nolb" => Ok(Maintenance::NoLoadBalancing),
        _ => Err(setting.refuse("true, false or nolb")),
    }
}

fn port(setting: &Setting) -> Result<u16, ConfigError> {
    let port = setting.value.parse();
    port.map_err(|_| setting.refuse("a port number from 0 to 65535"))
}

fn count(setting: &Setting) -> Result<u64, ConfigError> {
    if setting.value.eq_ignore_ascii_case("infinity") {
        return Ok(u64::MAX);
    }
    let number = setting.value.parse();
    number.map_err(|_| setting.refuse("a number, or infinity"))
}

/// Milliseconds; none for `infinity`.
fn timeout(setting: &Setting) -> Result<Option<Duration>, ConfigError> {
    if setting.value == "infinity" {
        return Ok(None);
    }
    let time = setting.value.parse::<u32>().ok().filter(|time| *time > 0);
    let expected = "a number of milliseconds from 1 on, or infinity";
    let time = time.ok_or_else(|| setting.refuse(expected))?;
    Ok(Some(Duration::from_millis(u64::from(time))))
}

/// `commit`, or `interval:` and a time.
fn durability(setting: &Setting) -> Result<Option<Duration>, ConfigError> {
    let interval = || {
        let time = setting.value.strip_prefix("interval:")?;
        let digits = time.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let scale = match &time[digits.len()..] {
            "ms" => 1,
            "s" => 1000,
            _ => return None,
        };
        let number: u64 = digits.parse().ok()?;
        number
            .checked_mul(scale)
            .filter(|ms| (1..=LONGEST_INTERVAL).contains(ms))
    };
    match (setting.value.as_str(), interval()) {
        ("commit", _) => Ok(None),
        (_, Some(milliseconds)) => Ok(Some(Duration::from_millis(milliseconds))),
        _ => Err(setting.refuse("commit, or interval: with 1ms to 60s such as interval:100ms")),
    }
}

fn attachments(ini: &Ini) -> Result<Attachments, ConfigError> {
    let of = |key| ini.get("attachments", key);
    let level = level(of("compression_level"), 0, 9)?;
    Ok(Attachments {
        compressible_types: of("compressible_types").map(Setting::list),
        compression_level: level.and_then(|level| level.try_into().ok()),
    })
}

fn compaction(ini: &Ini) -> Result<Compaction, ConfigError> {
    let of = |key| ini.get("compaction", key);
    let share = or(of("share"), |setting| setting.number(1..=100), 20)?;
    Ok(Compaction {
        share: u32::try_from(share).unwrap_or(100),
        in_place_from: or(of("in_place_from"), Setting::size, 64 << 20)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn read(text: &str) -> Result<Settings, String> {
        let ini = Ini::parse(Path::new("varve.ini"), text).unwrap();
        Settings::read(&ini).map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_file_gives_the_documented_defaults() {
        let settings = read("").unwrap();
        assert_eq!(settings.bind_address.to_string(), "127.0.0.1");
        assert_eq!(settings.port, 5984);
        assert_eq!(settings.max_document_size, 8_000_000);
        assert_eq!(settings.cache_size, 96 << 20);
        assert_eq!(settings.sessions.timeout.as_secs(), 600);
        assert_eq!(settings.sessions.iterations, 600_000);
        assert!(settings.hg.uncompressed && settings.cors.is_none());
        assert!(settings.admins.is_empty());
        assert_eq!(settings.max_attachments_per_doc, u64::MAX);
        let compaction = (20, 64 << 20);
        let Compaction {
            share,
            in_place_from,
        } = settings.compaction;
        assert_eq!((share, in_place_from), compaction);
    }

    #[test]
    fn durability_is_that_of_commits_or_of_an_interval() {
        let interval = |text: &str| {
            let read = read(&format!("[couchdb]\ndurability = {text}"));
            read.map(|settings| settings.sync_interval.map(|time| time.as_millis()))
        };
        assert_eq!(read("").unwrap().sync_interval, None);
        assert_eq!(interval("commit"), Ok(None));
        assert_eq!(interval("interval:100ms"), Ok(Some(100)));
        assert_eq!(interval("interval:60s"), Ok(Some(60_000)));
        for wrong in [
            "none",
            "100ms",
            "interval",
            "interval:5",
            "interval:0ms",
            "interval:61s",
            "interval:99999999999999999999s",
            "interval:1m",
        ] {
            let words = "couchdb.durability must be commit, or interval: with 1ms to 60s such as \
                         interval:100ms";
            let said = format!("varve.ini:2: {words}, not {wrong:?}");
            assert_eq!(interval(wrong), Err(said));
        }
    }

    #[test]
    fn queries_wait_for_a_minute_or_as_configured() {
        let timeout = |text: &str| {
            let read = read(&format!("[fabric]\n{text}"));
            read.map(|settings| settings.request_timeout.map(|time| time.as_millis()))
        };
        assert_eq!(timeout(""), Ok(Some(60_000)));
        assert_eq!(timeout("view_timeout = infinity"), Ok(Some(60_000)));
        assert_eq!(timeout("request_timeout = 250"), Ok(Some(250)));
        assert_eq!(timeout("request_timeout = infinity"), Ok(None));
        for wrong in ["0", "-1", "1s", "never", "99999999999"] {
            let words =
                "fabric.request_timeout must be a number of milliseconds from 1 on, or infinity";
            let said = format!("varve.ini:2: {words}, not {wrong:?}");
            assert_eq!(timeout(&format!("request_timeout = {wrong}")), Err(said));
        }
    }

    #[test]
    fn a_user_is_required_wherever_couchdb_reads_it() {
        for section in ["chttpd", "chttpd_auth", "couch_httpd_auth"] {
            for (key, required) in [
                ("require_valid_user", RequiredUser::Yes),
                (
                    "require_valid_user_except_for_up",
                    RequiredUser::ExceptForUp,
                ),
            ] {
                let settings = read(&format!("[{section}]\n{key} = true\n")).unwrap();
                assert_eq!(settings.required_user, required);
                assert!(settings.idle.is_empty());
            }
        }
        assert_eq!(read("").unwrap().required_user, RequiredUser::No);
    }

    #[test]
    fn attachments_have_settings_of_their_own() {
        let text = "[httpd]\nmax_http_request_size = 1mb\n\
                    [couchdb]\nmax_attachments_per_doc = 3\n[attachments]\n\
                    compressible_types = text/*, image/svg+xml\ncompression_level = 0\n";
        let settings = read(text).unwrap();
        assert_eq!(settings.max_attachments_per_doc, 3);
        assert_eq!(settings.max_request_size, 1 << 20);
        let types = settings.attachments.compressible_types.unwrap();
        assert_eq!(types, ["text/*", "image/svg+xml"]);
        assert_eq!(settings.attachments.compression_level, Some(0));
        let wrong = read("[attachments]\ncompression_level = 10").unwrap_err();
        let words = "attachments.compression_level must be a number from 0 to 9, not \"10\"";
        assert_eq!(wrong, format!("varve.ini:2: {words}"));
    }

    #[test]
    fn both_ancestors_spellings_are_read() {
        let text = "[chttpd]\nport = 0\nbind_address = ::1\nenable_cors = true\n\
                    [couch_httpd_auth]\ntimeout = 60\nsecret = s\n[admins]\nann = pw\n\
                    [couchdb]\nfile_compression = zstd_9\n[cors]\norigins = *\n\
                    [storage]\nrevlog.zstd.level = 0\n[server]\nuncompressed = no\nzstdlevel = 7\n";
        let settings = read(text).unwrap();
        assert_eq!(settings.bind_address.to_string(), "::1");
        assert_eq!(settings.port, 0);
        assert_eq!(settings.sessions.timeout.as_secs(), 60);
        assert_eq!(settings.sessions.secret.as_deref(), Some("s"));
        assert_eq!(settings.admins[0].value, "pw");
        assert_eq!(settings.file_compression.unwrap().value, "zstd_9");
        assert_eq!(settings.cors.unwrap().origins, ["*"]);
        assert_eq!(settings.hg.revlog_zstd_level, Some(0));
        assert!(!settings.hg.uncompressed);
        assert_eq!(settings.hg.zstd_level, 7);
    }

    #[test]
    fn the_exact_words_for_bad_values() {
        let cases = [
            (
                "[chttpd]\nport = 99999",
                "chttpd.port must be a port number from 0 to 65535, not \"99999\"",
            ),
            (
                "[chttpd]\nbind_address = here",
                "chttpd.bind_address must be an IP address such as 127.0.0.1, not \"here\"",
            ),
            (
                "[storage]\nrevlog.zlib.level = 42",
                "storage.revlog.zlib.level must be a number from 0 to 9, not \"42\"",
            ),
            (
                "[server]\ncompressionengines = zstd, lzma",
                "server.compressionengines must be a list of zstd, zlib and none, not \"zstd, lzma\"",
            ),
            (
                "[chttpd_auth]\npbkdf2_prf = md5",
                "chttpd_auth.pbkdf2_prf must be sha, sha224, sha256, sha384 or sha512, not \"md5\"",
            ),
            (
                "[compaction]\nshare = 0",
                "compaction.share must be a number from 1 to 100, not \"0\"",
            ),
            (
                "[chttpd_auth]\ntimeout = -1",
                "chttpd_auth.timeout must be a number of seconds from 1 on, not \"-1\"",
            ),
        ];
        for (text, words) in cases {
            assert_eq!(read(text).unwrap_err(), format!("varve.ini:2: {words}"));
        }
    }
}

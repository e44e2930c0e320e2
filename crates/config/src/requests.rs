//! How requests are read and bounded, in CouchDB's words: keys of `[chttpd]`, `[chttpd_auth]`, `[couchdb]`, `[mango]`, `[purge]`
//! and `[query_server_config]`.

use crate::setting::or;
use crate::{ConfigError, Ini, Setting};
use std::time::Duration;

/// Rights of a database without a security object of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultSecurity {
    /// Server admins only.
    AdminOnly,
    /// Every request may read, and each user write; the security object is empty.
    Everyone,
}

/// How requests are read and bounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requests {
    /// `[chttpd] decode_plus_to_space`: whether `+` is a space in names of databases and ids of documents; default true.
    pub plus_is_space: bool,
    /// `[chttpd] server_header_versions`: whether the header `Server` has a version; default true.
    pub shows_version: bool,
    /// `[chttpd] changes_timeout`: how long a feed waits at most; default 60 s.
    pub changes_timeout: Duration,
    /// `[chttpd] max_db_number_for_dbs_info_req`: databases of one `_dbs_info`; default 100.
    pub dbs_info: usize,
    /// `[chttpd] prefer_minimal`: headers that stay for a client with `Prefer: return=minimal`, in lower case.
    pub minimal_headers: Vec<String>,
    /// `[chttpd_auth] authentication_redirect`: where browsers go that have to log in; default `/_utils/session.html`.
    pub login_page: String,
    /// `[couchdb] default_security`: rights of databases that are made; default [`DefaultSecurity::AdminOnly`].
    pub default_security: DefaultSecurity,
    /// `[couchdb] max_document_id_length`: bytes; default infinity.
    pub document_id: u64,
    /// `[mango] default_limit`: documents of a `_find` that says nothing; default 25.
    pub find_limit: u64,
    /// `[mango] index_scan_warning_threshold`: so many documents may be read for each that is found; default 10, 0 warns never.
    pub scan_warning: u64,
    /// `[purge] max_document_id_number`: documents of one purge; default 100.
    pub purged_documents: u64,
    /// `[purge] max_revisions_number`: revisions of one purge; default 1000.
    pub purged_revisions: u64,
    /// `[query_server_config] query_limit`: the most rows of a view or list of documents; default 2^28.
    pub query_limit: u64,
}

/// CouchDB's.
const MINIMAL: [&str; 8] = [
    "cache-control",
    "content-length",
    "content-range",
    "content-type",
    "etag",
    "server",
    "transfer-encoding",
    "vary",
];

impl Default for Requests {
    fn default() -> Requests {
        Requests {
            plus_is_space: true,
            shows_version: true,
            changes_timeout: Duration::from_secs(60),
            dbs_info: 100,
            minimal_headers: MINIMAL.map(str::to_owned).to_vec(),
            login_page: "/_utils/session.html".to_owned(),
            default_security: DefaultSecurity::AdminOnly,
            document_id: u64::MAX,
            find_limit: 25,
            scan_warning: 10,
            purged_documents: 100,
            purged_revisions: 1000,
            query_limit: 1 << 28,
        }
    }
}

pub(crate) fn read(ini: &Ini) -> Result<Requests, ConfigError> {
    let usual = Requests::default();
    let chttpd = |key| ini.get("chttpd", key);
    let httpd = |key| chttpd(key).or_else(|| ini.get("httpd", key));
    let newer = ini.get("chttpd_auth", "authentication_redirect");
    let login_page = newer.or_else(|| ini.get("couch_httpd_auth", "authentication_redirect"));
    let couchdb = |key| ini.get("couchdb", key);
    let mango = |key| ini.get("mango", key);
    let purge = |key| ini.get("purge", key);
    Ok(Requests {
        plus_is_space: or(chttpd("decode_plus_to_space"), Setting::boolean, true)?,
        shows_version: or(chttpd("server_header_versions"), Setting::boolean, true)?,
        changes_timeout: or(
            httpd("changes_timeout"),
            milliseconds,
            usual.changes_timeout,
        )?,
        dbs_info: or(
            chttpd("max_db_number_for_dbs_info_req"),
            few,
            usual.dbs_info,
        )?,
        minimal_headers: chttpd("prefer_minimal").map_or(usual.minimal_headers, |names| {
            names
                .value
                .split(',')
                .map(|name| name.trim().to_ascii_lowercase())
                .collect()
        }),
        login_page: or(login_page, page, usual.login_page)?,
        default_security: or(
            couchdb("default_security"),
            security,
            usual.default_security,
        )?,
        document_id: or(couchdb("max_document_id_length"), count, usual.document_id)?,
        find_limit: or(mango("default_limit"), count, usual.find_limit)?,
        scan_warning: or(
            mango("index_scan_warning_threshold"),
            count,
            usual.scan_warning,
        )?,
        purged_documents: or(
            purge("max_document_id_number"),
            count,
            usual.purged_documents,
        )?,
        purged_revisions: or(purge("max_revisions_number"), count, usual.purged_revisions)?,
        query_limit: or(
            ini.get("query_server_config", "query_limit"),
            count,
            usual.query_limit,
        )?,
    })
}

fn count(setting: &Setting) -> Result<u64, ConfigError> {
    if setting.value == "infinity" {
        return Ok(u64::MAX);
    }
    let number = setting.value.parse();
    number.map_err(|_| setting.refuse("a number, or infinity"))
}

/// A list of so many names is kept in memory.
fn few(setting: &Setting) -> Result<usize, ConfigError> {
    let number = setting.number(1..=100_000)?;
    Ok(usize::try_from(number).unwrap_or(usize::MAX))
}

/// A feed keeps its connection for so long.
fn milliseconds(setting: &Setting) -> Result<Duration, ConfigError> {
    let number = setting.number(1..=86_400_000)?;
    Ok(Duration::from_millis(number.unsigned_abs()))
}

fn security(setting: &Setting) -> Result<DefaultSecurity, ConfigError> {
    match setting.value.as_str() {
        "admin_only" => Ok(DefaultSecurity::AdminOnly),
        // In CouchDB the second means: everyone, but for its former port for a single node.
        "everyone" | "admin_local" => Ok(DefaultSecurity::Everyone),
        _ => Err(setting.refuse("admin_only, admin_local or everyone")),
    }
}

/// A path of this server, as no login may be led to another one.
fn page(setting: &Setting) -> Result<String, ConfigError> {
    let path = setting.header_value()?;
    match path.starts_with('/') && !path.starts_with("//") && !path.contains('\\') {
        true => Ok(path),
        false => Err(setting.refuse("a path of this server such as /_utils/session.html")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn read(text: &str) -> Result<Requests, String> {
        let ini = Ini::parse(Path::new("varve.ini"), text).unwrap();
        super::read(&ini).map_err(|error| error.to_string())
    }

    #[test]
    fn every_key_is_read_from_its_section() {
        assert_eq!(read("").unwrap(), Requests::default());
        let all = read(
            "[chttpd]\ndecode_plus_to_space = false\nserver_header_versions = false\nchanges_timeout = 5000\n\
             max_db_number_for_dbs_info_req = 3\nprefer_minimal = ETag, Vary\n[chttpd_auth]\nauthentication_redirect = /login\n\
             [couchdb]\ndefault_security = everyone\nmax_document_id_length = 40\n\
             [mango]\ndefault_limit = 7\nindex_scan_warning_threshold = 0\n\
             [purge]\nmax_document_id_number = 4\nmax_revisions_number = 5\n[query_server_config]\nquery_limit = 6\n",
        );
        let expected = Requests {
            plus_is_space: false,
            shows_version: false,
            changes_timeout: Duration::from_secs(5),
            dbs_info: 3,
            minimal_headers: vec!["etag".to_owned(), "vary".to_owned()],
            login_page: "/login".to_owned(),
            default_security: DefaultSecurity::Everyone,
            document_id: 40,
            find_limit: 7,
            scan_warning: 0,
            purged_documents: 4,
            purged_revisions: 5,
            query_limit: 6,
        };
        assert_eq!(all.unwrap(), expected);
        let older = read("[couch_httpd_auth]\nauthentication_redirect = /a\n").unwrap();
        assert_eq!(older.login_page, "/a");
    }

    #[test]
    fn a_page_of_another_server_and_unknown_words_are_refused() {
        for wrong in [
            "[chttpd_auth]\nauthentication_redirect = https://other.example/\n",
            "[chttpd_auth]\nauthentication_redirect = //other.example/\n",
            "[couchdb]\ndefault_security = none\n",
            "[chttpd]\nchanges_timeout = infinity\n",
            "[chttpd]\nmax_db_number_for_dbs_info_req = 0\n",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}

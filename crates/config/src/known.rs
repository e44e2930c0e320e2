//! The names that Varve knows, so that a misspelled one is refused instead of being ignored.

use crate::{ConfigError, Ini, Setting, absent, ken, refused, smoosh};

/// Sections whose keys are checked, with the keys that have an effect.
const SECTIONS: &[(&str, &[&str])] = &[
    (
        "couchdb",
        &[
            "cache_size",
            "file_compression",
            "durability",
            "max_dbs_open",
            "users_db_security_editable",
            "os_process_timeout",
            "max_document_size",
            "max_attachment_size",
            "max_attachments_per_doc",
            "max_partition_size",
            "maintenance_mode",
            "single_node",
            "uuid",
            "default_security",
            "max_document_id_length",
        ],
    ),
    (
        "chttpd",
        &[
            "port",
            "bind_address",
            "max_http_request_size",
            "enable_cors",
            "max_connections",
            "require_valid_user",
            "require_valid_user_except_for_up",
            "trusted_proxies",
            "allowed_hosts",
            "config_whitelist",
            "WWW-Authenticate",
            "authentication_handlers",
            "admin_only_all_dbs",
            "secure_rewrites",
            "rewrite_limit",
            "allow_jsonp",
            "buffer_response",
            "decode_plus_to_space",
            "server_header_versions",
            "changes_timeout",
            "max_db_number_for_dbs_info_req",
            "prefer_minimal",
        ],
    ),
    ("uuids", &["algorithm", "utc_id_suffix", "max_count"]),
    ("attachments", &["compressible_types", "compression_level"]),
    (
        "views",
        &[
            "compile",
            "filter_index_after",
            "filter_indexes",
            "skip_failed",
        ],
    ),
    ("chttpd_auth", AUTH_KEYS),
    ("couch_httpd_auth", AUTH_KEYS),
    (
        "chttpd_auth_lockout",
        &["mode", "threshold", "max_lifetime", "max_objects"],
    ),
    (
        "couch_peruser",
        &["enable", "delete_dbs", "database_prefix"],
    ),
    (
        "replicator",
        &[
            "max_jobs",
            "interval",
            "max_churn",
            "max_history",
            "worker_processes",
            "worker_batch_size",
            "http_connections",
            "connection_timeout",
            "retries_per_request",
            "checkpoint_interval",
            "use_checkpoints",
            "use_bulk_get",
            "auth_plugins",
            "session_refresh_interval_sec",
            "verify_ssl_certificates",
            "ssl_trusted_certificates_file",
            "valid_endpoint_protocols",
            "valid_proxy_protocols",
            "allow_list",
        ],
    ),
    (
        "jwt_auth",
        &["required_claims", "roles_claim_name", "roles_claim_path"],
    ),
    (
        "cors",
        &["origins", "credentials", "headers", "methods", "max_age"],
    ),
    (
        "csp",
        &[
            "utils_enable",
            "utils_header_value",
            "attachments_enable",
            "attachments_header_value",
            "showlist_enable",
            "showlist_header_value",
            "report_only",
        ],
    ),
    ("ken", &["batch_channels", "wait_secs"]),
    (
        "history",
        &[
            "databases",
            "include",
            "line_counts",
            "files",
            "data",
            "poll_secs",
        ],
    ),
    (
        "query_server_config",
        &["partition_query_limit", "query_limit", "reduce_limit"],
    ),
    ("mango", &["default_limit", "index_scan_warning_threshold"]),
    ("purge", &["max_document_id_number", "max_revisions_number"]),
    ("quickjs", &["memory_limit_bytes"]),
    ("fabric", &["request_timeout"]),
    (
        "limits",
        &[
            "connections_per_address",
            "streams",
            "reads",
            "writes",
            "queries",
            "exchanges",
            "head_timeout",
            "body_timeout",
            "body_rate",
            "idle_timeout",
            "write_timeout",
            "answer_buffer",
            "body_buffer",
            "json_body",
            "body_memory",
            "list_output",
            "logins",
            "logins_per_address",
        ],
    ),
    ("smoosh", &["db_channels", "view_channels", "wait_secs"]),
    (
        "log",
        &[
            "level",
            "level.auth",
            "level.couch",
            "level.hg",
            "level.http",
            "level.runtime",
            "level.site",
            "format",
            "file",
            "writer",
        ],
    ),
    ("compaction", &["share", "in_place_from"]),
    ("shared", &["collect_every", "copies_limit"]),
    ("varve", &["shutdown_timeout", "compress_answers"]),
    ("ssl", &["http2"]),
    ("storage", &["revlog.zlib.level", "revlog.zstd.level"]),
    (
        "server",
        &[
            "uncompressed",
            "uncompressedallowsecret",
            "compressionengines",
            "zliblevel",
            "zstdlevel",
            "disablefullbundle",
            "pullbundle",
            "preferuncompressed",
            "bundle2.stream",
            "concurrent-push-mode",
            "maxhttpheaderlen",
            "bookmarks-pushkey-compat",
            "bundle1",
            "streamunbundle",
            "validate",
            "view",
        ],
    ),
];

/// Sections that CouchDB has as well: CouchDB accepts there what it does not know, so that existing files can be taken over, and
/// so does this program, unless it looks like a misspelled name.
const OF_COUCHDB: &[&str] = &[
    "attachments",
    "chttpd",
    "chttpd_auth",
    "chttpd_auth_lockout",
    "couch_httpd_auth",
    "couch_peruser",
    "couchdb",
    "cors",
    "fabric",
    "jwt_auth",
    "ken",
    "log",
    "query_server_config",
    "quickjs",
    "replicator",
    "smoosh",
    "ssl",
    "uuids",
];

/// Keys of `[smoosh.CHANNEL]`, whatever the channel's name.
const CHANNEL_KEYS: &[&str] = &[
    "priority",
    "min_priority",
    "max_priority",
    "min_size",
    "max_size",
    "from",
    "to",
    "strict_window",
];

const AUTH_KEYS: &[&str] = &[
    "timeout",
    "secret",
    "iterations",
    "pbkdf2_prf",
    "password_scheme",
    "password_regexp",
    "min_iterations",
    "max_iterations",
    "upgrade_hash_on_auth",
    "hash_algorithms",
    "allow_persistent_cookies",
    "same_site",
    "cookie_domain",
    "proxy_use_secret",
    "x_auth_username",
    "x_auth_roles",
    "x_auth_token",
    "require_valid_user",
    "require_valid_user_except_for_up",
    "authentication_redirect",
];

/// Keys of `[httpd]`, CouchDB's older `[chttpd]`, that have an effect.
const HTTPD_KEYS: &[&str] = &[
    "enable_cors",
    "max_http_request_size",
    "max_connections",
    "WWW-Authenticate",
    "allow_jsonp",
    "buffer_response",
    "secure_rewrites",
    "rewrite_limit",
    "config_whitelist",
    "changes_timeout",
];

/// Settings that are read at a start only; no key stands for all of the section.
const AT_START: &[(&str, &str)] = &[
    ("attachments", ""),
    ("chttpd", "port"),
    ("chttpd", "bind_address"),
    ("chttpd", "trusted_proxies"),
    ("chttpd", "allowed_hosts"),
    ("compaction", "in_place_from"),
    ("couchdb", "cache_size"),
    ("couchdb", "durability"),
    ("couchdb", "max_dbs_open"),
    ("couchdb", "single_node"),
    ("limits", "logins"),
    ("limits", "logins_per_address"),
    ("log", "format"),
    ("log", "file"),
    ("log", "writer"),
    ("server", ""),
    ("storage", ""),
    ("varve", "shutdown_timeout"),
    ("ssl", "http2"),
];

/// Sections in which every key is a name of the user's.
const FREE: &[&str] = &["admins", "jwt_keys", ken::IGNORE];

/// Whether a change of this setting has its effect at the next start only.
pub fn is_read_at_start(section: &str, key: &str) -> bool {
    let mut settings = AT_START.iter();
    settings.any(|(of, name)| *of == section && (*name == key || name.is_empty()))
}

/// Names that differ in at most this many letters are taken for one another.
const MISSPELLED_WITHIN: usize = 2;

/// Refuses misspelled names; returns those that are accepted without an effect: neither this program nor CouchDB knows them.
pub(crate) fn check(ini: &Ini) -> Result<Vec<String>, ConfigError> {
    let mut idle: Vec<String> = Vec::new();
    for setting in ini.settings() {
        refused::check(setting)?;
        if absent::is_usual(setting)? || has_effect(setting)? || setting.value.is_empty() {
            continue;
        }
        let name = setting.name();
        if !idle.contains(&name) {
            idle.push(name);
        }
    }
    Ok(idle)
}

fn has_effect(setting: &Setting) -> Result<bool, ConfigError> {
    let (section, key) = (setting.section.as_str(), setting.key.as_str());
    if FREE.contains(&section) {
        return Ok(true);
    }
    let is_channel = section.starts_with(smoosh::CHANNEL);
    let found = SECTIONS.iter().find(|(name, _)| *name == section);
    let keys = match is_channel {
        true => Some(CHANNEL_KEYS),
        false => found.map(|(_, keys)| *keys),
    };
    let Some(keys) = keys else {
        return section_without_effect(setting);
    };
    if keys.contains(&key) {
        return Ok(true);
    }
    let near = nearest(keys.iter().copied(), key).map(|key| format!("{section}.{key}"));
    let is_couchdbs = is_channel || OF_COUCHDB.contains(&section);
    match is_couchdbs && near.is_none() {
        true => Ok(false),
        false => Err(unknown(setting, near)),
    }
}

/// A section of another program, unless it looks like a misspelled one. `[httpd]` is CouchDB's older `[chttpd]`.
fn section_without_effect(setting: &Setting) -> Result<bool, ConfigError> {
    let section = setting.section.as_str();
    let known = SECTIONS.iter().map(|(name, _)| *name);
    match nearest(known.chain(FREE.iter().copied()), section) {
        Some(near) if !OTHERS.contains(&section) => {
            Err(unknown(setting, Some(format!("{near}.{}", setting.key))))
        }
        _ => Ok(section == "httpd" && HTTPD_KEYS.contains(&setting.key.as_str())),
    }
}

fn unknown(setting: &Setting, nearest: Option<String>) -> ConfigError {
    let (file, line, key) = (setting.file.clone(), setting.line, setting.name());
    match nearest {
        Some(nearest) => ConfigError::Misspelled {
            file,
            line,
            key,
            nearest,
        },
        None => ConfigError::Unknown { file, line, key },
    }
}

/// The most similar name, if it is close: a short name has few letters that may differ.
fn nearest<'n>(names: impl Iterator<Item = &'n str>, given: &str) -> Option<&'n str> {
    let near = names.map(|name| (distance(name, given), name)).min();
    let allowed = MISSPELLED_WITHIN.min(given.len() / 3);
    near.filter(|(distance, _)| *distance <= allowed)
        .map(|(_, name)| name)
}

/// Sections of the ancestors that look like a known one and are another.
const OTHERS: &[&str] = &["httpd", "chttpds", "compactions"];

/// Number of letters to insert, remove or replace.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn words(text: &str) -> Option<String> {
        let ini = Ini::parse(Path::new("varve.ini"), text).unwrap();
        check(&ini).err().map(|error| error.to_string())
    }

    #[test]
    fn a_misspelled_name_is_refused_with_the_right_one() {
        assert_eq!(
            words("[couchdb]\nfile_compresion = zstd").unwrap(),
            "varve.ini:2: there is no setting couchdb.file_compresion; \
             did you mean couchdb.file_compression?"
        );
        assert_eq!(
            words("[chtpd]\nport = 1").unwrap(),
            "varve.ini:2: there is no setting chtpd.port; did you mean chttpd.port?"
        );
    }

    #[test]
    fn suggestions_are_close_or_there_are_none() {
        assert_eq!(
            words("[limits]\nreplies = 1").unwrap(),
            "varve.ini:2: there is no setting limits.replies"
        );
        assert_eq!(
            words("[varve]\nother = 1").unwrap(),
            "varve.ini:2: there is no setting varve.other"
        );
        assert_eq!(words("[couchdb]\njs_engine = quickjs"), None);
        assert_eq!(words("[chttpd_auth]\nauth_cache_size = 50"), None);
        assert_eq!(
            words("[ssl]\nenable = true").unwrap(),
            "varve.ini:2: ssl.enable must be false or absent, as `varve serve --certificate FILE` switches TLS on, \
             with certificate and key in FILE, not \"true\""
        );
    }

    #[test]
    fn settings_that_neither_program_knows_are_told_once() {
        let text = "[couchdb]\ndelayed_commits = true\ndelayed_commits = false\nbtree_chunk_size = 1279\n\
                    [httpd]\nsecure_rewrites = true\nmax_connections = 1\n[smoosh.slack_dbs]\nother = 9\n\
                    [cluster]\nq=2\nn=\n[couch_replicator]\nold =\n";
        let ini = Ini::parse(Path::new("varve.ini"), text).unwrap();
        let idle = check(&ini).unwrap();
        assert_eq!(idle, ["couchdb.delayed_commits", "smoosh.slack_dbs.other"]);
    }

    #[test]
    fn foreign_sections_and_free_names_pass() {
        assert_eq!(
            words("[ui]\nusername = me\n[httpd]\nport = 5986\n[admins]\nportt = x"),
            None
        );
    }

    /// Settings of repositories, in their `hgrc`.
    const OF_REPOSITORIES: &[&str] = &["web"];

    #[test]
    fn settings_that_the_document_about_security_names_are_known() {
        let document = include_str!("../../../docs/security.md");
        let named = document.split("`[").skip(1);
        let named = named.filter_map(|rest| rest.split('`').next()?.split_once("] "));
        let named: Vec<(&str, &str)> = named.collect();
        assert!(named.len() > 40, "{named:?}");
        for (section, key) in named {
            let found = SECTIONS.iter().find(|(name, _)| *name == section);
            let is_known = found.is_some_and(|(_, keys)| keys.contains(&key));
            assert!(
                is_known || OF_REPOSITORIES.contains(&section),
                "[{section}] {key}"
            );
        }
    }

    #[test]
    fn settings_that_are_read_at_a_start_are_known_ones() {
        for (section, key) in AT_START {
            let found = SECTIONS.iter().find(|(name, _)| name == section);
            assert!(
                found.is_some_and(|(_, keys)| key.is_empty() || keys.contains(key)),
                "{section}.{key}"
            );
        }
        assert!(is_read_at_start("server", "zstdlevel"));
        assert!(!is_read_at_start("couchdb", "max_document_size"));
    }

    #[test]
    fn distances_count_letters() {
        assert_eq!(distance("port", "port"), 0);
        assert_eq!(distance("port", "prot"), 2);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "ac"), 1);
    }
}

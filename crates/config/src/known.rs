//! The names that Varve knows, so that a misspelled one is refused instead of being ignored.

use crate::{ConfigError, Ini, Setting, ken, smoosh};

/// Sections whose keys are checked, with the keys that have an effect and those of the ancestors
/// that are accepted without one, so that an existing file can be taken over as it is.
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
            "uuid",
            // Without effect here.
            "attachment_stream_buffer_size",
            "changes_doc_ids_optimization_threshold",
            "database_dir",
            "default_engine",
            "default_security",
            "delayed_commits",
            "enable_database_recovery",
            "maintenance_mode",
            "single_node",
            "view_index_dir",
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
            "trusted_proxies",
            "allowed_hosts",
            // Without effect here.
            "authentication_handlers",
            "backlog",
            "buffer_response",
            "changes_timeout",
            "docroot",
            "prefer_minimal",
            "require_valid_user_except_for_up",
            "server_options",
            "socket_options",
        ],
    ),
    ("attachments", &["compressible_types", "compression_level"]),
    ("views", &["compile"]),
    ("chttpd_auth", AUTH_KEYS),
    ("couch_httpd_auth", AUTH_KEYS),
    (
        "cors",
        &["origins", "credentials", "headers", "methods", "max_age"],
    ),
    (
        "ken",
        &[
            "batch_channels",
            "wait_secs",
            // Without effect here.
            "incremental_channels",
            "limit",
            "max_incremental_updates",
            "prune_interval",
        ],
    ),
    (
        "query_server_config",
        &[
            "reduce_limit",
            // Without effect here.
            "commit_freq",
            "os_process_idle_limit",
            "os_process_limit",
            "os_process_soft_limit",
            "partition_query_limit",
            "query_limit",
            "reduce_limit_ratio",
            "reduce_limit_threshold",
        ],
    ),
    ("quickjs", &["memory_limit_bytes"]),
    (
        "fabric",
        &[
            "request_timeout",
            // Without effect here.
            "all_docs_concurrency",
            "all_docs_timeout",
            "attachments_timeout",
            "changes_duration",
            "partition_view_timeout",
            "search_timeout",
            "shard_timeout_factor",
            "shard_timeout_min_msec",
            "uuid_prefix_len",
            "view_timeout",
        ],
    ),
    (
        "limits",
        &[
            "connections_per_address",
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
            "logins",
            "logins_per_address",
        ],
    ),
    (
        "smoosh",
        &[
            "db_channels",
            "view_channels",
            "wait_secs",
            // Without effect here.
            "cleanup_channels",
            "cleanup_index_files",
            "compaction_log_level",
            "persist",
            "staleness",
        ],
    ),
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
        ],
    ),
    ("compaction", &["share", "in_place_from"]),
    ("storage", &["revlog.zlib.level", "revlog.zstd.level"]),
    (
        "server",
        &[
            "uncompressed",
            "uncompressedallowsecret",
            "compressionengines",
            "zliblevel",
            "zstdlevel",
            // Without effect here.
            "bookmarks-pushkey-compat",
            "bundle1",
            "concurrent-push-mode",
            "disablefullbundle",
            "maxhttpheaderlen",
            "preferuncompressed",
            "streamunbundle",
            "validate",
            "view",
        ],
    ),
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
    // Without effect here.
    "capacity",
    "concurrency",
    "min_changes",
];

const AUTH_KEYS: &[&str] = &[
    "timeout",
    "secret",
    "iterations",
    "pbkdf2_prf",
    "allow_persistent_cookies",
    "same_site",
    "cookie_domain",
    // Without effect here.
    "authentication_db",
    "authentication_redirect",
    "auth_cache_size",
    "hash_algorithms",
    "max_iterations",
    "min_iterations",
    "require_valid_user",
];

/// Sections in which every key is a name of the user's.
const FREE: &[&str] = &["admins", ken::IGNORE];

/// Whether Varve reads this section, so that its keys are checked.
pub fn is_known_section(section: &str) -> bool {
    FREE.contains(&section)
        || SECTIONS.iter().any(|(name, _)| *name == section)
        || section.starts_with(smoosh::CHANNEL)
}

/// Names that differ in at most this many letters are taken for one another.
const MISSPELLED_WITHIN: usize = 2;

/// Refuses unknown keys of known sections, and sections that look like a known one.
pub(crate) fn check(ini: &Ini) -> Result<(), ConfigError> {
    ini.settings().try_for_each(check_one)
}

fn check_one(setting: &Setting) -> Result<(), ConfigError> {
    let section = setting.section.as_str();
    if FREE.contains(&section) {
        return Ok(());
    }
    let unknown = |nearest: String| {
        Err(ConfigError::Unknown {
            file: setting.file.clone(),
            line: setting.line,
            key: setting.name(),
            nearest,
        })
    };
    let found = SECTIONS.iter().find(|(name, _)| *name == section);
    let found = match section.starts_with(smoosh::CHANNEL) {
        true => Some(CHANNEL_KEYS),
        false => found.map(|(_, keys)| *keys),
    };
    if let Some(keys) = found {
        if keys.contains(&setting.key.as_str()) {
            return Ok(());
        }
        let nearest = keys.iter().min_by_key(|key| distance(key, &setting.key));
        return unknown(format!("{section}.{}", nearest.unwrap_or(&"")));
    }
    let names = SECTIONS
        .iter()
        .map(|(name, _)| *name)
        .chain(FREE.iter().copied());
    let nearest = names
        .min_by_key(|name| distance(name, section))
        .unwrap_or("");
    if distance(nearest, section) <= MISSPELLED_WITHIN && !OTHERS.contains(&section) {
        return unknown(format!("{nearest}.{}", setting.key));
    }
    Ok(())
}

/// Sections of the ancestors that look like a known one and are another.
const OTHERS: &[&str] = &["httpd", "chttpds"];

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
    fn foreign_sections_and_free_names_pass() {
        assert_eq!(
            words("[ui]\nusername = me\n[httpd]\nport = 1\n[admins]\nportt = x"),
            None
        );
    }

    #[test]
    fn distances_count_letters() {
        assert_eq!(distance("port", "port"), 0);
        assert_eq!(distance("port", "prot"), 2);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "ac"), 1);
    }
}

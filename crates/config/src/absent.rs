//! Keys of CouchDB 3.5's `default.ini` that have nothing here to set. Ignoring one would leave its user with another server than the
//! file says, so that values other than CouchDB's own are refused, with what takes their place.

use crate::{ConfigError, Setting};

/// Keys of one section.
struct Absent {
    section: &'static str,
    /// Each with the values that change nothing, CouchDB's default first.
    keys: &'static [(&'static str, &'static [&'static str])],
    why: &'static str,
}

const FILES: &str = "databases are in databases/ and indexes in indexes/ of the served directory";
const ONE_NODE: &str = "there is one node with one shard of each database";
const NO_ERLANG: &str = "there is no Erlang to be tuned";
const NO_SEARCH: &str = "text search is to come";
const NO_SCANNER: &str = "there is no scanner";
const TLS: &str =
    "`varve serve --certificate FILE` switches TLS on, with certificate and key in FILE";
const ONE_ENGINE: &str = "there is one storage engine, and no process for JavaScript";
const OWN_SCHEDULER: &str = "jobs of replication take turns by the time that they have waited";

const ABSENT: &[Absent] = &[
    Absent {
        section: "couchdb",
        keys: &[
            (
                "database_dir",
                &["./data", "/var/lib/couchdb", "/opt/couchdb/data"],
            ),
            (
                "view_index_dir",
                &["./data", "/var/lib/couchdb", "/opt/couchdb/data"],
            ),
            ("uri_file", &[]),
        ],
        why: FILES,
    },
    Absent {
        section: "couchdb",
        keys: &[
            ("util_driver_dir", &[]),
            ("plugin_dir", &[]),
            ("attachment_stream_buffer_size", &["4096"]),
            ("btree_chunk_size", &["1279"]),
            ("stem_interactive_updates", &["true"]),
            ("changes_doc_ids_optimization_threshold", &["1000", "100"]),
            ("update_lru_on_read", &["false"]),
            ("default_engine", &["couch"]),
            ("attachment_writer_timeout", &["300000"]),
            ("compaction_log_level", &["info"]),
            ("write_xxhash_checksums", &["false"]),
            ("use_cfile", &["true"]),
            ("cfile_skip_ioq", &["false"]),
            ("js_engine", &["quickjs"]),
        ],
        why: ONE_ENGINE,
    },
    Absent {
        section: "purge",
        keys: &[("index_lag_warn_seconds", &["86400"])],
        why: "purges are in every index before it answers",
    },
    Absent {
        section: "couchdb_engines",
        keys: &[("couch", &["couch_bt_engine"]), ("", &[])],
        why: ONE_ENGINE,
    },
    Absent {
        section: "indexers",
        keys: &[("couch_mrview", &["true"]), ("", &[])],
        why: ONE_ENGINE,
    },
    Absent {
        section: "process_priority",
        keys: &[("", &["false"])],
        why: NO_ERLANG,
    },
    Absent {
        section: "off_heap_mqd",
        keys: &[("", &["true"])],
        why: NO_ERLANG,
    },
    Absent {
        section: "cluster",
        keys: &[
            ("q", &["2", "1", "8"]),
            ("n", &["3", "1"]),
            ("placement", &[]),
            ("seedlist", &[]),
            ("reconnect_interval_sec", &["37"]),
        ],
        why: ONE_NODE,
    },
    Absent {
        section: "chttpd",
        keys: &[
            ("backlog", &["512"]),
            ("socket_options", &["[{sndbuf, 262144}, {nodelay, true}]"]),
            (
                "server_options",
                &[
                    "[{recbuf, undefined}]",
                    "[{recbuf, undefined}, {acceptor_pool_size, 32}, {max, 65536}]",
                ],
            ),
            ("max_uri_length", &["8000"]),
            ("bulk_get_use_batches", &["true"]),
            ("disconnect_check_msec", &["30000"]),
            ("disconnect_check_jitter_msec", &["15000"]),
        ],
        why: "[limits] bounds what clients may hold, and for how long",
    },
    Absent {
        section: "chttpd",
        keys: &[("scrub_json_request", &["true"])],
        why: "functions never see logins",
    },
    Absent {
        section: "httpd",
        keys: &[
            ("port", &["5986"]),
            ("bind_address", &["127.0.0.1"]),
            ("socket_options", &["[{sndbuf, 262144}]"]),
            (
                "server_options",
                &["[{backlog, 128}, {acceptor_pool_size, 16}]"],
            ),
            (
                "authentication_handlers",
                &[
                    "{couch_httpd_auth, cookie_authentication_handler}, {couch_httpd_auth, default_authentication_handler}",
                ],
            ),
            ("max_uri_length", &["8000"]),
        ],
        why: "there is no port for a single node: see [chttpd]",
    },
    Absent {
        section: "httpd_design_handlers",
        keys: &[("", &[])],
        why: ONE_ENGINE,
    },
    Absent {
        section: "httpd_db_handlers",
        keys: &[("", &[])],
        why: ONE_ENGINE,
    },
    Absent {
        section: "httpd_global_handlers",
        keys: &[("", &[])],
        why: ONE_ENGINE,
    },
    Absent {
        section: "vhosts",
        keys: &[("", &[])],
        why: "a proxy in front does virtual hosts",
    },
    Absent {
        section: "chttpd_auth",
        keys: &[("auth_cache_size", &["50"])],
        why: "the cache of logins has a size of its own",
    },
    Absent {
        section: "couch_httpd_auth",
        keys: &[("auth_cache_size", &["50"])],
        why: "the cache of logins has a size of its own",
    },
    Absent {
        section: "chttpd_auth_cache",
        keys: &[
            ("max_lifetime", &["600000"]),
            ("max_objects", &[]),
            ("max_size", &["104857600"]),
        ],
        why: "the cache of logins has a size of its own",
    },
    Absent {
        section: "couch_passwords_cache",
        keys: &[
            ("max_objects", &["10000"]),
            ("max_idle", &["600000"]),
            ("enable", &["true"]),
        ],
        why: "the cache of logins has a size of its own",
    },
    Absent {
        section: "couch_peruser",
        keys: &[("q", &["1"])],
        why: ONE_NODE,
    },
    Absent {
        section: "ssl",
        keys: &[
            ("port", &["6984"]),
            ("enable", &["false"]),
            ("cert_file", &[]),
            ("key_file", &[]),
            ("password", &[]),
            ("cacert_file", &[]),
            ("verify_ssl_certificates", &["false"]),
            ("fail_if_no_peer_cert", &["false"]),
            ("ssl_certificate_max_depth", &["1"]),
            ("verify_fun", &[]),
            ("secure_renegotiate", &["true"]),
            ("ciphers", &[]),
            ("tls_versions", &[]),
        ],
        why: TLS,
    },
    Absent {
        section: "mem3",
        keys: &[
            ("nodes_db", &["_nodes"]),
            ("shard_cache_size", &["25000"]),
            ("shards_db", &["_dbs"]),
            ("sync_concurrency", &["10"]),
            ("replicate_purges", &["true"]),
        ],
        why: ONE_NODE,
    },
    Absent {
        section: "fabric",
        keys: &[
            ("all_docs_concurrency", &["10"]),
            ("changes_duration", &[]),
            ("shard_timeout_factor", &["2"]),
            ("shard_timeout_min_msec", &["100"]),
            ("uuid_prefix_len", &["7"]),
            ("all_docs_timeout", &["10000"]),
            ("attachments_timeout", &["60000"]),
            ("view_timeout", &["infinity", "3600000"]),
            ("view_permsg_timeout", &["3600000"]),
            ("partition_view_timeout", &["infinity", "3600000"]),
            ("search_timeout", &["infinity"]),
            ("search_permsg_timeout", &["3600000"]),
            ("nouveau_timeout", &["infinity"]),
            ("nouveau_permsg_timeout", &["3600000"]),
        ],
        why: "an answer that has begun is sent to its end",
    },
    Absent {
        section: "rexi",
        keys: &[
            ("buffer_count", &["2000"]),
            ("server_per_node", &["true"]),
            ("stream_limit", &["5"]),
            ("shard_split_timeout_msec", &["600000"]),
            ("shard_split_topoff_batch_size", &["500"]),
            ("use_kill_all", &["true"]),
        ],
        why: ONE_NODE,
    },
    Absent {
        section: "global_changes",
        keys: &[
            ("max_event_delay", &["25"]),
            ("max_write_delay", &["500"]),
            ("update_db", &["true"]),
        ],
        why: "_db_updates needs no database",
    },
    Absent {
        section: "view_updater",
        keys: &[
            ("min_writer_items", &["100"]),
            ("min_writer_size", &["16777216"]),
        ],
        why: "[ken] and [couchdb] cache_size bound the building of indexes",
    },
    Absent {
        section: "ddoc_cache",
        keys: &[
            ("max_size", &["104857600"]),
            ("refresh_timeout", &["67000"]),
        ],
        why: "design documents are cached with their databases",
    },
    Absent {
        section: "x_frame_options",
        keys: &[("same_origin", &[]), ("hosts", &[])],
        why: "[csp] says in whose frames pages may be",
    },
    Absent {
        section: "per_doc_access",
        keys: &[("enabled", &["false"]), ("enable", &["false"])],
        why: "`PUT /DB?access=true` makes a database with access by document",
    },
    Absent {
        section: "native_query_servers",
        keys: &[("enable_erlang_query_server", &["false"]), ("", &[])],
        why: NO_ERLANG,
    },
    Absent {
        section: "query_servers",
        keys: &[("", &[])],
        why: ONE_ENGINE,
    },
    Absent {
        section: "query_server_config",
        keys: &[
            ("commit_freq", &["5"]),
            ("os_process_limit", &["100"]),
            ("os_process_idle_limit", &["300"]),
            ("os_process_soft_limit", &["100"]),
            ("group_info_timeout", &["5000"]),
            ("db_tag", &["name"]),
        ],
        why: ONE_ENGINE,
    },
    Absent {
        section: "mango",
        keys: &[("index_all_disabled", &["false"])],
        why: NO_SEARCH,
    },
    Absent {
        section: "feature_flags",
        keys: &[("partitioned||*", &["true"]), ("", &[])],
        why: "any database may have partitions",
    },
    Absent {
        section: "replicator",
        keys: &[
            ("startup_jitter", &["5000"]),
            ("cluster_start_period", &["5"]),
            ("usage_coeff", &["0.5"]),
            ("priority_coeff", &["0.98"]),
            ("missing_doc_retry_msec", &["2000"]),
        ],
        why: OWN_SCHEDULER,
    },
    Absent {
        section: "replicator.shares",
        keys: &[("", &["100"])],
        why: OWN_SCHEDULER,
    },
    Absent {
        section: "replicator",
        keys: &[
            ("request_timeout", &["infinity"]),
            ("socket_options", &["[{keepalive, true}, {nodelay, false}]"]),
            (
                "valid_socket_options",
                &["buffer,keepalive,nodelay,priority,recbuf,sndbuf"],
            ),
            ("max_document_id_length", &["infinity"]),
        ],
        why: "connection_timeout and retries_per_request bound requests",
    },
    Absent {
        section: "replicator",
        keys: &[
            ("valid_endpoint_protocols_log", &["false"]),
            ("verify_ssl_certificates_log", &["false"]),
            ("cert_file", &[]),
            ("key_file", &[]),
            ("password", &[]),
            ("ssl_certificate_max_depth", &["3"]),
        ],
        why: "no certificate of a client is sent; verify_ssl_certificates and ssl_trusted_certificates_file say what is trusted",
    },
    Absent {
        section: "log",
        keys: &[
            ("max_message_size", &["16000"]),
            ("strip_last_msg", &["true"]),
            (
                "filter_fields",
                &["[pid, registered_name, error_info, messages]"],
            ),
            ("write_buffer", &["0"]),
            ("write_delay", &["0"]),
            ("syslog_host", &[]),
            ("syslog_port", &["514"]),
            ("syslog_appid", &["couchdb"]),
            ("syslog_facility", &["local2"]),
            ("syslog_enterprise_number", &[]),
        ],
        why: "lines go to the standard error, or to `file`",
    },
    Absent {
        section: "stats",
        keys: &[("interval", &["10"])],
        why: "figures are counted as they come",
    },
    Absent {
        section: "smoosh",
        keys: &[
            (
                "state_dir",
                &["./data", "/var/lib/couchdb", "/opt/couchdb/data"],
            ),
            ("persist", &["false"]),
            ("compaction_log_level", &["debug"]),
            ("cleanup_channels", &["index_cleanup"]),
        ],
        why: "files are looked at anew after a start",
    },
    Absent {
        section: "ioq",
        keys: &[("concurrency", &["10"]), ("ratio", &["0.01"])],
        why: "[compaction] share bounds work in the background",
    },
    Absent {
        section: "ioq.bypass",
        keys: &[
            ("os_process", &["true"]),
            ("read", &["true"]),
            ("write", &["true"]),
            ("view_update", &["true"]),
            ("shard_sync", &["false"]),
            ("compaction", &["false"]),
        ],
        why: "[compaction] share bounds work in the background",
    },
    Absent {
        section: "dreyfus",
        keys: &[
            ("name", &["clouseau@127.0.0.1"]),
            ("retry_limit", &["5"]),
            ("limit", &["25"]),
            ("limit_partitions", &["2000"]),
            ("max_limit", &["200"]),
            ("max_limit_partitions", &["2000"]),
        ],
        why: NO_SEARCH,
    },
    Absent {
        section: "nouveau",
        keys: &[("enable", &["false"]), ("url", &["http://127.0.0.1:5987"])],
        why: NO_SEARCH,
    },
    Absent {
        section: "reshard",
        keys: &[
            ("max_jobs", &["48"]),
            ("max_history", &["20"]),
            ("max_retries", &["5"]),
            ("retry_interval_sec", &["10"]),
            ("delete_source", &["true"]),
            ("update_shard_map_timeout_sec", &["60"]),
            ("source_close_timeout_sec", &["600"]),
            ("require_node_param", &["false"]),
            ("require_range_param", &["false"]),
            ("index_max_retries", &["5"]),
            ("index_retry_interval_sec", &["10"]),
        ],
        why: ONE_NODE,
    },
    Absent {
        section: "prometheus",
        keys: &[
            ("additional_port", &["false"]),
            ("bind_address", &["127.0.0.1"]),
            ("port", &["17986"]),
            ("interval", &["5"]),
        ],
        why: "figures are at /_node/_local/_prometheus",
    },
    Absent {
        section: "view_upgrade",
        keys: &[
            ("compact_on_collator_upgrade", &["true"]),
            ("commit_on_header_upgrade", &["true"]),
        ],
        why: "indexes of an older form are built anew",
    },
    Absent {
        section: "custodian",
        keys: &[("use_cluster_n_as_expected_n", &["false"])],
        why: ONE_NODE,
    },
    Absent {
        section: "disk_monitor",
        keys: &[
            ("enable", &["false"]),
            ("background_view_indexing_threshold", &["80"]),
            ("interactive_view_indexing_threshold", &["90"]),
            ("interactive_database_writes_threshold", &["90"]),
        ],
        why: "a full disk is an error of the write that finds it",
    },
    Absent {
        section: "couch_scanner",
        keys: &[
            ("interval_sec", &["5"]),
            ("min_penalty_sec", &["30"]),
            ("max_penalty_sec", &["28800"]),
            ("heal_threshold_sec", &["300"]),
            ("db_rate_limit", &["25"]),
            ("shard_rate_limit", &["50"]),
            ("doc_rate_limit", &["1000"]),
        ],
        why: NO_SCANNER,
    },
    Absent {
        section: "couch_scanner_plugins",
        keys: &[
            ("couch_scanner_plugin_ddoc_features", &["true", "false"]),
            ("", &["false"]),
        ],
        why: NO_SCANNER,
    },
    Absent {
        section: "couch_scanner_plugin_ddoc_features",
        keys: &[("", &["true", "false"])],
        why: NO_SCANNER,
    },
    Absent {
        section: "couch_scanner_plugin_doc_conflicts_finder",
        keys: &[("", &["true", "false"])],
        why: NO_SCANNER,
    },
    Absent {
        section: "couch_scanner_plugin_find",
        keys: &[("debug", &["false"]), ("", &[])],
        why: NO_SCANNER,
    },
    Absent {
        section: "couch_scanner_plugin_find.regexes",
        keys: &[("", &[])],
        why: NO_SCANNER,
    },
    Absent {
        section: "couch_quickjs_scanner_plugin",
        keys: &[
            ("max_ddocs", &["100"]),
            ("max_shards", &["4"]),
            ("max_docs", &["1000"]),
            ("max_step", &["1000"]),
            ("max_batch_items", &["100"]),
            ("max_batch_size", &["16777216"]),
            ("after", &["restart"]),
            ("repeat", &["restart"]),
        ],
        why: NO_SCANNER,
    },
    Absent {
        section: "vendor",
        keys: &[("name", &["The Apache Software Foundation"])],
        why: "the vendor is Varve",
    },
];

/// Channels of `[smoosh]`, whatever their names.
const CHANNEL: Absent = Absent {
    section: "smoosh.",
    keys: &[("capacity", &["9999"]), ("concurrency", &["1"])],
    why: "files are compacted one at a time",
};

/// Settings of virtual hosts.
const HOSTS: Absent = Absent {
    section: "cors:",
    keys: &[("", &[])],
    why: "a proxy in front does virtual hosts",
};

/// Whether a setting is one of these, with a value that changes nothing.
///
/// # Errors
/// One of these has another value.
pub(crate) fn is_usual(setting: &Setting) -> Result<bool, ConfigError> {
    let (section, key) = (setting.section.as_str(), setting.key.as_str());
    let named = ABSENT.iter().filter(|absent| absent.section == section);
    let begun = [&CHANNEL, &HOSTS].into_iter();
    let begun = begun.filter(|absent| section.starts_with(absent.section));
    for absent in named.chain(begun) {
        let exact = absent.keys.iter().find(|(name, _)| *name == key);
        // No key stands for all others of the section.
        let found = exact.or_else(|| absent.keys.iter().find(|(name, _)| name.is_empty()));
        let Some((_, allowed)) = found else {
            continue;
        };
        let value = setting.value.as_str();
        if value.is_empty() || allowed.contains(&value) {
            return Ok(true);
        }
        let why = absent.why;
        return Err(match allowed.first() {
            Some(usual) => setting.refuse(format_args!("{usual} or absent, as {why}")),
            None => setting.refuse(format_args!("absent, as {why}")),
        });
    }
    Ok(false)
}

#[cfg(test)]
mod tests;

//! The order of the rooms in each crate.

use super::Floor;

/// Each crate with its floors, the lowest first. An order is a decision: a room moves only when the design does.
pub const FLOORS: &[(&str, &[Floor])] = &[
    (
        "base",
        &[&["base85", "priority", "progress", "storage", "varint"]],
    ),
    ("bench", &[&["error", "spread"], &["codec", "revlog"]]),
    (
        "btree",
        &[
            &["error", "stats", "reducer", "dictionaries"],
            &["header", "chunk"],
            &["node"],
            &["commit", "cache"],
            &["pages"],
            &["readahead", "range", "edit", "loader"],
            &["read"],
            &["snapshot"],
            &[
                "delta",
                "recover",
                "diff",
                "reachability",
                "stored",
                "commit_id",
                "overlay",
            ],
            &["unreadable", "file"],
            &["transaction"],
            &["holes"],
            &["fuzzing"],
        ],
    ),
    (
        "cli",
        &[
            &["context"],
            &["demo"],
            &["error"],
            &["commands"],
            &["help"],
        ],
    ),
    (
        "codec",
        &[
            &["stream_setting", "deflate", "codecs"],
            &["setting", "stream_decoder"],
            &["stream"],
            &["fuzzing"],
        ],
    ),
    (
        "config",
        &[
            &["error", "hgrc"],
            &["setting"],
            &["ini"],
            &["ken", "smoosh", "functions", "limits", "log", "edit"],
            &["known"],
            &["settings"],
        ],
    ),
    (
        "delta",
        &[
            &["patch", "tokens", "blocks"],
            &["matching", "fold", "blanks", "merge"],
            &["diff"],
            &["sorted"],
            &["fuzzing"],
        ],
    ),
    (
        "docdb",
        &[
            &["rev", "gzip", "watch"],
            &["error", "render", "revtree"],
            &["bodies", "record"],
            &["training", "read"],
            &["verify", "compact", "edit"],
            &["hole_punching", "salvage", "write"],
            &["database"],
            &["fuzzing"],
        ],
    ),
    (
        "exchange",
        &[
            &["error"],
            &["sink", "spool"],
            &["format"],
            &["generate", "apply"],
            &["bundle_repo"],
            &["server", "client"],
            &["local_peer"],
            &["fuzzing"],
        ],
    ),
    (
        "hgcli",
        &[
            &["ui"],
            &["arguments", "hooks"],
            &["context"],
            &["render", "remote"],
            &["commands"],
            &["dispatch"],
        ],
    ),
    (
        "js",
        &[
            &["error", "limits"],
            &["sandbox"],
            &["native", "map", "filter", "reduce", "update", "validate"],
            &["functions"],
            &["fuzzing"],
        ],
    ),
    (
        "json",
        &[
            &["number"],
            &["value", "error"],
            &["object", "collate", "lexer"],
            &["term", "parse", "write", "scan"],
            &["body"],
            &["document"],
            &["fuzzing"],
        ],
    ),
    (
        "lang",
        &[
            &["expression", "date", "suggestion"],
            &["fileset"],
            &["patterns"],
            &["fuzzing"],
        ],
    ),
    (
        "repo",
        &[
            &["hooks"],
            &["format"],
            &["read"],
            &["write"],
            &["tools"],
            &["fuzzing"],
        ],
    ),
    (
        "revlog",
        &[
            &["ids", "chunk", "options"],
            &["entry", "error", "chain"],
            &["entries", "window"],
            &["index", "reader"],
            &["nodes"],
            &["revlog"],
            &["parallel", "append"],
            &["choose", "write"],
            &["receive"],
            &["fuzzing"],
        ],
    ),
    (
        "revset",
        &[
            &["tree", "error", "bitset"],
            &["text", "grammar", "set"],
            &["engine"],
            &["follow"],
            &["functions"],
            &["fuzzing"],
        ],
    ),
    (
        "server",
        &[
            &["error"],
            &["runtime"],
            &["http"],
            &["auth"],
            &["directory"],
            &["hg", "couch"],
            &["site"],
            &["fuzzing"],
        ],
    ),
    (
        "testkit",
        &[
            &[
                "http", "peers", "layering", "recorded", "recorder", "rooms", "tidy", "watched",
            ],
            &["repos", "varve"],
        ],
    ),
    (
        "views",
        &[
            &[
                "selector",
                "row",
                "options",
                "header",
                "memtable_budget",
                "design",
            ],
            &["error", "reduce"],
            &["files", "group", "query"],
            &["index"],
            &["find", "compact"],
            &["build"],
            &["fuzzing"],
        ],
    ),
    (
        "workdir",
        &[
            &["dirstate", "error", "audit", "rename_detection"],
            &[
                "status",
                "tree",
                "merge_state",
                "ignore",
                "files",
                "branch_and_bookmark",
            ],
            &["merge", "local_state", "commit", "filesets"],
            &["update"],
            &["revert"],
            &["fuzzing"],
        ],
    ),
];

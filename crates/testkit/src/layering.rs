//! The layering rule: which crate may import which.
//!
//! The table is the one of `ARCHITECTURE.md`; a crate is cut only where an import must be
//! impossible, so a new line here is a decision and not a repair.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Each crate with the whole list of our crates that it may import, without the `varve-` prefix.
pub const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("archive", &["base", "codec"]),
    ("base", &[]),
    ("codec", &["base"]),
    ("config", &["base"]),
    ("console", &[]),
    ("delta", &["base"]),
    ("lang", &["base"]),
    ("patch", &["base", "codec", "delta"]),
    ("revlog", &["base", "codec", "delta"]),
    (
        "repo",
        &["base", "codec", "config", "delta", "lang", "revlog"],
    ),
    ("revset", &["base", "delta", "lang", "revlog", "repo"]),
    (
        "exchange",
        &["base", "codec", "config", "delta", "revlog", "repo"],
    ),
    (
        "workdir",
        &["base", "config", "delta", "lang", "patch", "revlog", "repo"],
    ),
    ("btree", &["base", "codec"]),
    ("json", &["base"]),
    ("docdb", &["base", "codec", "config", "btree", "json"]),
    ("js", &["base", "json"]),
    (
        "views",
        &["base", "codec", "config", "btree", "json", "docdb", "js"],
    ),
    (
        "replicate",
        &["base", "codec", "config", "btree", "json", "docdb"],
    ),
    (
        "history",
        &[
            "base", "codec", "config", "delta", "lang", "revlog", "repo", "btree", "json", "docdb",
            "js", "views",
        ],
    ),
    ("shared", &["base"]),
    ("s3", &["base", "shared"]),
    (
        "bench",
        &[
            "base", "codec", "config", "delta", "lang", "revlog", "repo", "exchange", "btree",
            "json", "docdb", "js", "views",
        ],
    ),
    (
        "server",
        &[
            "archive",
            "base",
            "codec",
            "config",
            "console",
            "delta",
            "lang",
            "patch",
            "revlog",
            "repo",
            "revset",
            "exchange",
            "btree",
            "json",
            "docdb",
            "js",
            "views",
            "replicate",
            "history",
            "bench",
            "shared",
        ],
    ),
    (
        "hgcli",
        &[
            "archive", "base", "codec", "config", "delta", "lang", "patch", "revlog", "repo",
            "revset", "workdir", "exchange",
        ],
    ),
    (
        "cli",
        &[
            "archive",
            "base",
            "codec",
            "config",
            "delta",
            "lang",
            "patch",
            "revlog",
            "repo",
            "revset",
            "workdir",
            "exchange",
            "btree",
            "json",
            "docdb",
            "js",
            "views",
            "replicate",
            "history",
            "bench",
            "server",
            "shared",
            "s3",
            "hgcli",
        ],
    ),
    ("testkit", &["base"]),
];

/// Crates that bring an async runtime, and the crates of ours that may name them.
const ASYNC: &[&str] = &[
    "tokio",
    "hyper",
    "hyper-util",
    "http-body-util",
    "futures",
    "async-std",
    "object_store",
    "reqwest",
];
const ASYNC_OWNERS: &[&str] = &["s3", "server"];

/// Forbidden imports in the output of `cargo metadata --no-deps`.
pub fn violations(metadata: &Value) -> Vec<String> {
    let table: BTreeMap<&str, &[&str]> = MAY_IMPORT.iter().copied().collect();
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let own = name.strip_prefix("varve-").unwrap_or(name);
        let Some(allowed) = table.get(own) else {
            found.push(format!("{name} is not in the table of layers"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let to = dependency["name"].as_str().unwrap_or_default();
            // Normal dependencies have a kind of null.
            let for_tests = dependency["kind"] == "dev";
            if ASYNC.contains(&to) && !ASYNC_OWNERS.contains(&own) && !for_tests {
                let owners = ASYNC_OWNERS.join(" and ");
                found.push(format!("{name} imports {to}: only {owners} are async"));
            }
            let Some(layer) = to.strip_prefix("varve-") else {
                continue;
            };
            let allowed = allowed.contains(&layer) || (for_tests && layer == "testkit");
            if !allowed {
                found.push(format!("{name} may not import {to}"));
            }
        }
    }
    found
}

/// Names in the table that no crate has, other than those that later issues bring.
pub fn unknown_layers() -> BTreeSet<&'static str> {
    let named: BTreeSet<_> = MAY_IMPORT
        .iter()
        .flat_map(|(_, to)| to.iter().copied())
        .collect();
    let owned: BTreeSet<_> = MAY_IMPORT.iter().map(|(name, _)| *name).collect();
    named.difference(&owned).copied().collect()
}

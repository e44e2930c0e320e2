//! One file per command: its options and help, one library call, printing.

pub(crate) mod add;
pub(crate) mod addremove;
pub(crate) mod annotate;
pub(crate) mod bench;
pub(crate) mod bookmarks;
pub(crate) mod branch;
pub(crate) mod branches;
pub(crate) mod bundle;
pub(crate) mod cat;
pub(crate) mod clone;
pub(crate) mod clonebundle;
pub(crate) mod commit;
pub(crate) mod config;
pub(crate) mod copy;
pub(crate) mod debugapplystreamclonebundle;
pub(crate) mod debugbundle;
pub(crate) mod debugcreatestreamclonebundle;
pub(crate) mod debugdata;
pub(crate) mod debugdeltachain;
pub(crate) mod debugformat;
pub(crate) mod debugindex;
pub(crate) mod debugrequires;
pub(crate) mod debugrevlog;
pub(crate) mod debugupgraderepo;
pub(crate) mod diff;
mod exchanged;
pub(crate) mod files;
pub(crate) mod forget;
pub(crate) mod heads;
pub(crate) mod help;
pub(crate) mod identify;
pub(crate) mod incoming;
pub(crate) mod init;
pub(crate) mod log;
pub(crate) mod manifest;
mod names;
pub(crate) mod outgoing;
pub(crate) mod parents;
pub(crate) mod paths;
pub(crate) mod phase;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod recompress;
pub(crate) mod recover;
pub(crate) mod remove;
pub(crate) mod revert;
pub(crate) mod root;
pub(crate) mod serve;
pub(crate) mod status;
pub(crate) mod summary;
pub(crate) mod tag;
pub(crate) mod tags;
pub(crate) mod tip;
pub(crate) mod unbundle;
pub(crate) mod update;
pub(crate) mod verify;
pub(crate) mod version;

use crate::face::Command;

/// All commands, sorted by name, besides `bench` and the form `serve DIR`, which are of `varve` alone.
pub(crate) const COMMANDS: &[&Command] = &[
    &add::COMMAND,
    &addremove::COMMAND,
    &annotate::COMMAND,
    &bookmarks::COMMAND,
    &branch::COMMAND,
    &branches::COMMAND,
    &bundle::COMMAND,
    &cat::COMMAND,
    &clone::COMMAND,
    &clonebundle::COMMAND,
    &commit::COMMAND,
    &config::COMMAND,
    &copy::COPY,
    &debugapplystreamclonebundle::COMMAND,
    &debugbundle::COMMAND,
    &debugcreatestreamclonebundle::COMMAND,
    &debugdata::COMMAND,
    &debugdeltachain::COMMAND,
    &debugformat::COMMAND,
    &debugindex::COMMAND,
    &debugrequires::COMMAND,
    &debugrevlog::COMMAND,
    &debugupgraderepo::COMMAND,
    &diff::COMMAND,
    &files::COMMAND,
    &forget::COMMAND,
    &heads::COMMAND,
    &help::COMMAND,
    &identify::COMMAND,
    &incoming::COMMAND,
    &init::COMMAND,
    &log::COMMAND,
    &manifest::COMMAND,
    &outgoing::COMMAND,
    &parents::COMMAND,
    &paths::COMMAND,
    &phase::COMMAND,
    &pull::COMMAND,
    &push::COMMAND,
    &recompress::COMMAND,
    &recover::COMMAND,
    &remove::COMMAND,
    &copy::RENAME,
    &revert::COMMAND,
    &root::COMMAND,
    &serve::COMMAND,
    &status::COMMAND,
    &summary::COMMAND,
    &tag::COMMAND,
    &tags::COMMAND,
    &tip::COMMAND,
    &unbundle::COMMAND,
    &update::COMMAND,
    &verify::COMMAND,
    &version::COMMAND,
];

/// Commands that Mercurial has not.
pub(crate) const OF_VARVE: &[&str] = &["clonebundle", "recompress"];

/// Commands of Mercurial 7.2, each with its other names. An abbreviation may mean one that is here
/// only if there it would not mean another; those that are not here are unknown.
pub(crate) const OF_MERCURIAL: &[&str] = &[
    "abort",
    "add",
    "addremove",
    "annotate blame",
    "archive",
    "backout",
    "bisect",
    "bookmarks bookmark",
    "branch",
    "branches",
    "bundle",
    "cat",
    "clone",
    "commit ci",
    "config showconfig",
    "continue",
    "copy cp",
    "diff",
    "export",
    "files",
    "forget",
    "graft",
    "grep",
    "heads",
    "identify id",
    "import patch",
    "incoming in",
    "locate",
    "log history",
    "manifest",
    "merge",
    "outgoing out",
    "parents",
    "paths",
    "phase",
    "pull",
    "purge clean",
    "push",
    "recover",
    "remove rm",
    "rename move mv",
    "resolve",
    "revert",
    "rollback",
    "serve",
    "shelve",
    "status st",
    "summary sum",
    "tag",
    "tags",
    "tip",
    "unbundle",
    "unshelve",
    "update up checkout co",
    "verify",
    "debug-delta-find",
    "debug-repair-issue6528",
    "debug-revlog-index",
    "debug-revlog-stats",
    "debug::clonebundle-manifest",
    "debug::fast-upgrade",
    "debug::file-index",
    "debug::revlog-reencoded-delta-info",
    "debug::stable-tail-sort",
    "debug::stable-tail-sort-leaps",
    "debug::unbundle",
    "debugancestor",
    "debugantivirusrunning",
    "debugapplystreamclonebundle",
    "debugbackupbundle",
    "debugbuilddag",
    "debugbundle",
    "debugcapabilities",
    "debugchangedfiles",
    "debugcheckstate",
    "debugcolor",
    "debugcommands",
    "debugcomplete",
    "debugconfig",
    "debugcreatestreamclonebundle",
    "debugdag",
    "debugdata",
    "debugdate",
    "debugdeltachain",
    "debugdirstate",
    "debugdirstateignorepatternshash",
    "debugdiscovery",
    "debugdownload",
    "debugextensions",
    "debugfileset",
    "debugformat",
    "debugfsinfo",
    "debuggetbundle",
    "debugignore",
    "debugindexdot",
    "debugindexstats",
    "debuginstall",
    "debugknown",
    "debuglabelcomplete",
    "debuglocks",
    "debugmanifestfulltextcache",
    "debugmergestate",
    "debugnamecomplete",
    "debugnodemap",
    "debugobsolete",
    "debugp1copies",
    "debugp2copies",
    "debugpathcomplete",
    "debugpathcopies",
    "debugpeer",
    "debugpickmergetool",
    "debugpushkey",
    "debugpvec",
    "debugrebuilddirstate",
    "debugrebuildfncache",
    "debugrename",
    "debugrequires",
    "debugrevlog",
    "debugrevlogindex",
    "debugrevspec",
    "debugserve",
    "debugsetparents",
    "debugshell",
    "debugsidedata",
    "debugssl",
    "debugstrip",
    "debugsub",
    "debugsuccessorssets",
    "debugtagscache",
    "debugtemplate",
    "debuguigetpass",
    "debuguiprompt",
    "debugupdatecaches",
    "debugupgraderepo",
    "debugwalk",
    "debugwhyunstable",
    "debugwireargs",
    "debugwireproto",
];

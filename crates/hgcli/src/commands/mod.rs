//! One file per command: its options and help, one library call, printing.

pub(crate) mod config;
pub(crate) mod debug;
pub(crate) mod exchange;
pub(crate) mod help;
pub(crate) mod history;
pub(crate) mod local;
mod names;
pub(crate) mod usage;
pub(crate) mod version;

use crate::context::{Command, CommandTable, Program};
use varve_config::hgrc::Hgrc;

/// All commands of a program.
pub(crate) fn table(program: &Program) -> CommandTable {
    CommandTable::new(COMMANDS, program, OF_MERCURIAL)
}

/// Adds the commands of the extensions that the configuration switches on.
pub(crate) fn with_extensions(table: &CommandTable, config: &Hgrc) -> CommandTable {
    let on = OF_EXTENSIONS.iter().filter(|of| of.is_on(config));
    table.with(on.flat_map(|of| of.commands.iter().copied()))
}

/// The command of this name, whether its extension is on or not.
pub(crate) fn known(table: &CommandTable, name: &str) -> Option<&'static Command> {
    let of_extensions = OF_EXTENSIONS.iter().flat_map(|of| of.commands);
    let mut all = table.iter().chain(of_extensions.copied());
    all.find(|command| command.name() == name)
}

/// The commands of this crate, sorted by name.
pub(crate) const COMMANDS: &[&Command] = &[
    &local::abort_and_continue::ABORT,
    &local::add::COMMAND,
    &local::addremove::COMMAND,
    &history::annotate::COMMAND,
    &history::archive::COMMAND,
    &local::backout::COMMAND,
    &local::bisect::COMMAND,
    &history::bookmarks::COMMAND,
    &local::branch::COMMAND,
    &history::branches::COMMAND,
    &exchange::bundle::COMMAND,
    &history::cat::COMMAND,
    &exchange::clone::COMMAND,
    &local::commit::COMMAND,
    &config::COMMAND,
    &local::abort_and_continue::CONTINUE,
    &local::copy::COPY,
    &debug::debugancestor::COMMAND,
    &debug::debugapplystreamclonebundle::COMMAND,
    &debug::debugbuilddag::COMMAND,
    &debug::debugbundle::COMMAND,
    &debug::debugcapabilities::COMMAND,
    &debug::debugcheckstate::COMMAND,
    &debug::debugcommands::COMMAND,
    &debug::debugcomplete::COMMAND,
    &debug::debugcreatestreamclonebundle::COMMAND,
    &debug::debugdata::COMMAND,
    &debug::debugdate::COMMAND,
    &debug::debugdeltachain::COMMAND,
    &debug::debugdirstate::COMMAND,
    &debug::debugdiscovery::COMMAND,
    &debug::debugextensions::COMMAND,
    &debug::debugfileset::COMMAND,
    &debug::debugformat::COMMAND,
    &debug::debugignore::COMMAND,
    &debug::debugindex::COMMAND,
    &debug::debugindexdot::COMMAND,
    &debug::debugnamecomplete::LABELS,
    &debug::debugknown::COMMAND,
    &debug::debuglocks::COMMAND,
    &debug::debugmergestate::COMMAND,
    &debug::debugnamecomplete::COMMAND,
    &debug::debugobsolete::COMMAND,
    &debug::debugcopies::FIRST,
    &debug::debugcopies::SECOND,
    &debug::debugpathcomplete::COMMAND,
    &debug::debugpathcopies::COMMAND,
    &debug::debugpeer::COMMAND,
    &debug::debugpickmergetool::COMMAND,
    &debug::debugpushkey::COMMAND,
    &debug::debugrebuilddirstate::COMMAND,
    &debug::debugrename::COMMAND,
    &debug::debugrequires::COMMAND,
    &debug::debugrevlog::COMMAND,
    &debug::debugrevlogindex::COMMAND,
    &debug::debugrevspec::COMMAND,
    &debug::debugsetparents::COMMAND,
    &local::strip::DEBUGSTRIP,
    &debug::debugsuccessorssets::COMMAND,
    &debug::debugtemplate::COMMAND,
    &debug::debuguiprompt::COMMAND,
    &debug::debugupgraderepo::COMMAND,
    &debug::debugwalk::COMMAND,
    &debug::debugwhyunstable::COMMAND,
    &debug::debugwireargs::COMMAND,
    &history::diff::COMMAND,
    &history::export::COMMAND,
    &history::files::COMMAND,
    &local::forget::COMMAND,
    &local::graft::COMMAND,
    &history::grep::COMMAND,
    &history::heads::COMMAND,
    &help::COMMAND,
    &history::identify::COMMAND,
    &local::import::COMMAND,
    &exchange::incoming::COMMAND,
    &local::init::COMMAND,
    &history::locate::COMMAND,
    &history::log::COMMAND,
    &history::manifest::COMMAND,
    &local::merge::COMMAND,
    &exchange::outgoing::COMMAND,
    &history::parents::COMMAND,
    &exchange::paths::COMMAND,
    &history::phase::COMMAND,
    &exchange::pull::COMMAND,
    &local::purge::COMMAND,
    &exchange::push::COMMAND,
    &local::recover::COMMAND,
    &local::remove::COMMAND,
    &local::copy::RENAME,
    &local::resolve::COMMAND,
    &local::revert::COMMAND,
    &local::rollback::COMMAND,
    &local::root::COMMAND,
    &local::shelve::COMMAND,
    &local::status::COMMAND,
    &history::summary::COMMAND,
    &local::tag::COMMAND,
    &history::tags::COMMAND,
    &history::tip::COMMAND,
    &exchange::unbundle::COMMAND,
    &local::unshelve::COMMAND,
    &local::update::COMMAND,
    &local::verify::COMMAND,
    &version::COMMAND,
];

/// Commands that are only there if an extension is switched on.
pub(crate) struct ExtensionCommands {
    /// The extensions, the first of which is their own; any one is enough.
    pub(crate) extensions: &'static [&'static str],
    pub(crate) commands: &'static [&'static Command],
    /// Name of the extension's file, for one that does not come with the program.
    pub(crate) file: Option<&'static str>,
    /// Mercurial's lines about the extension, which a call without it gets.
    pub(crate) description: &'static [&'static str],
}

impl ExtensionCommands {
    /// Whether the configuration names one of the extensions, as one of Mercurial's own or, for those that come with
    /// its tests, as the file of that name.
    pub(crate) fn is_on(&self, config: &Hgrc) -> bool {
        let is_set = |extension: &&str| {
            let value = extension_value(config, extension);
            value.is_some_and(|value| match self.file {
                Some(file) => is_file(value, file),
                None => value.is_empty(),
            })
        };
        self.extensions.iter().any(is_set)
    }
}

/// Names of Mercurial's own extensions that are switched on and whose commands are here, sorted.
pub(crate) fn extensions_on(config: &Hgrc) -> Vec<&'static str> {
    let own = OF_EXTENSIONS.iter().filter(|of| of.file.is_none());
    let names = own.flat_map(|of| of.extensions.iter().copied());
    let is_on = |name: &&str| extension_value(config, name).is_some_and(<[u8]>::is_empty);
    let mut on: Vec<&str> = names.filter(is_on).collect();
    on.sort_unstable();
    on
}

/// The value that counts of a name in `[extensions]`: empty for one of Mercurial's own that is switched on.
pub(crate) fn extension_value<'c>(config: &'c Hgrc, extension: &str) -> Option<&'c [u8]> {
    let mut items = config.section("extensions").iter().rev();
    let item = items.find(|item| {
        let prefixes = [&b"hgext."[..], b"hgext/"];
        let short = prefixes.iter().find_map(|&at| item.key.strip_prefix(at));
        short.unwrap_or(&item.key) == extension.as_bytes()
    });
    item.map(|item| &item.value[..])
}

/// Whether an extension is loaded from a file of this name.
fn is_file(value: &[u8], file: &str) -> bool {
    value.rsplit(|byte| *byte == b'/').next() == Some(file.as_bytes())
}

/// Whether the value of an extension is a file whose commands are here.
pub(crate) fn replaces_file(value: &[u8]) -> bool {
    let mut files = OF_EXTENSIONS.iter().filter_map(|of| of.file);
    files.any(|file| is_file(value, file))
}

/// All commands of this crate that belong to extensions of Mercurial.
pub(crate) const OF_EXTENSIONS: &[ExtensionCommands] = &[
    ExtensionCommands {
        extensions: &["absorb"],
        commands: &[&local::absorb::COMMAND],
        file: None,
        description: &["apply working directory changes to changesets (EXPERIMENTAL)"],
    },
    ExtensionCommands {
        extensions: &["amend"],
        commands: &[&local::amend::COMMAND],
        file: None,
        description: &["provide the amend command (EXPERIMENTAL)"],
    },
    ExtensionCommands {
        extensions: &["extdiff"],
        commands: &[&history::extdiff::COMMAND],
        file: None,
        description: &["command to allow external programs to compare revisions"],
    },
    ExtensionCommands {
        extensions: &["fix"],
        commands: &[&local::fix::COMMAND],
        file: None,
        description: &[
            "rewrite file content in changesets or working copy",
            "(EXPERIMENTAL)",
        ],
    },
    ExtensionCommands {
        extensions: &["histedit"],
        commands: &[&local::histedit::COMMAND],
        file: None,
        description: &["interactive history editing"],
    },
    ExtensionCommands {
        extensions: &["drawdag", "debugdrawdag"],
        commands: &[&debug::debugdrawdag::COMMAND],
        file: Some("drawdag.py"),
        description: &["create changesets from an ASCII graph for testing purpose."],
    },
    ExtensionCommands {
        extensions: &["rebase"],
        commands: &[&local::rebase::COMMAND],
        file: None,
        description: &["command to move sets of revisions to a different ancestor"],
    },
    ExtensionCommands {
        extensions: &["record"],
        commands: &[&local::record::COMMAND],
        file: None,
        description: &[
            "commands to interactively select changes for commit/qrefresh",
            "(DEPRECATED)",
        ],
    },
    ExtensionCommands {
        extensions: &["share"],
        commands: &[&local::share::COMMAND, &local::unshare::COMMAND],
        file: None,
        description: &["share a common history between several working directories"],
    },
    ExtensionCommands {
        extensions: &["split"],
        commands: &[&local::split::COMMAND],
        file: None,
        description: &["command to split a changeset into smaller ones (EXPERIMENTAL)"],
    },
    ExtensionCommands {
        extensions: &["strip", "mq"],
        commands: &[&local::strip::STRIP],
        file: None,
        description: &[
            "strip changesets and their descendants from history",
            "(DEPRECATED)",
        ],
    },
    ExtensionCommands {
        extensions: &["uncommit"],
        commands: &[&local::uncommit::UNAMEND, &local::uncommit::UNCOMMIT],
        file: None,
        description: &["uncommit part or all of a local changeset (EXPERIMENTAL)"],
    },
];

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
    "debugdirstate debugstate",
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

//! The section `[extensions]`: parts of Mercurial that are written in Python and cannot be loaded.
//!
//! Mercurial's own that only add commands are passed over: a call of such a command says that it
//! is unknown. All others get Mercurial's line for an extension that it cannot import.

use crate::commands::{ExtensionCommands, OF_EXTENSIONS, replaces_file};
use crate::ui::environment::Environment;
use crate::ui::system_words;
use varve_config::hgrc::{Files, Hgrc};

/// Extensions of Mercurial that only add commands, options or hooks' functions, or that are part
/// of every Mercurial now, or of this program.
const PASSED_OVER: &[&str] = &[
    "absorb",
    "acl",
    "amend",
    "automv",
    "bookmarks",
    "bugzilla",
    "children",
    "churn",
    "clonebundles",
    "closehead",
    "color",
    "convert",
    "extdiff",
    "factotum",
    "fastannotate",
    "fetch",
    "fix",
    "githelp",
    "gpg",
    "graphlog",
    "hgk",
    "histedit",
    "interhg",
    "journal",
    "mq",
    "notify",
    "pager",
    "parentrevspec",
    "patchbomb",
    "phabricator",
    "progress",
    "purge",
    "rebase",
    "record",
    "relink",
    "releasenotes",
    "schemes",
    "share",
    "shelve",
    "show",
    "split",
    "strip",
    "transplant",
    "uncommit",
    "zeroconf",
];

/// Extensions of Mercurial that change its commands.
const MISSING: &[&str] = &[
    "beautifygraph",
    "blackbox",
    "censor",
    "commitextras",
    "eol",
    "fsmonitor",
    "hooklib",
    "infinitepush",
    "keyword",
    "largefiles",
    "lfs",
    "logtoprocess",
    "narrow",
    "remotefilelog",
    "remotenames",
    "sparse",
    "sqlitestore",
    "win32mbcs",
    "win32text",
];

/// The extension that brings the command of this name and is not switched on.
pub(super) fn switched_off(name: &str, config: &Hgrc) -> Option<&'static ExtensionCommands> {
    let mut off = OF_EXTENSIONS
        .iter()
        .filter(|of| of.file.is_none() && !of.is_on(config));
    off.find(|of| {
        of.commands
            .iter()
            .any(|command| command.names.contains(&name))
    })
}

/// Mercurial's words for a call of a command whose extension is not switched on.
pub(super) fn provided_by(command: &str, extension: &str, description: &[&str]) -> String {
    let description = description.join("\n                  ");
    format!(
        "'{command}' is provided by the following extension:\n\n    {extension:<14}{description}\n\n\
         (use 'hg help extensions' for information on enabling extensions)\n"
    )
}

/// One line for each extension that is configured and missed.
pub(crate) fn warnings(config: &Hgrc) -> Vec<String> {
    let mut lines = Vec::new();
    for item in config.section("extensions") {
        // `name:required` and the like are about another key; `!` switches off.
        if item.key.contains(&b':') || item.value.starts_with(b"!") {
            continue;
        }
        let name = String::from_utf8_lossy(&item.key);
        if let Some(reason) = reason(&name, &item.value) {
            lines.push(format!(
                "*** failed to import extension \"{name}\"{reason}\n"
            ));
        }
    }
    lines
}

/// Why an extension is missing; `None` if its absence changes nothing.
fn reason(name: &str, value: &[u8]) -> Option<String> {
    if value.is_empty() {
        let short = name.strip_prefix("hgext.").or(name.strip_prefix("hgext/"));
        let short = short.unwrap_or(name);
        if PASSED_OVER.contains(&short) {
            return None;
        }
        return Some(match MISSING.contains(&short) {
            true => ": it is not part of this program".to_owned(),
            false => format!(": No module named '{name}'"),
        });
    }
    if replaces_file(value) {
        return None;
    }
    let path = Environment.expand(value);
    let shown = path.display();
    Some(match path.metadata() {
        Ok(_) => format!(" from {shown}: this program does not run Python"),
        Err(error) => {
            let (words, number) = (system_words(&error), error.raw_os_error().unwrap_or(0));
            format!(" from {shown}: [Errno {number}] {words}: '{shown}'")
        }
    })
}

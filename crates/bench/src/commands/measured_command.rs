//! The commands that are measured.

use crate::processes::Words;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// Effect of a command on its repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandEffect {
    /// Prints something and changes nothing.
    Read,
    /// Commits one changed file.
    Commit,
    /// Writes all files of the newest changeset into an empty working copy.
    Update,
    /// Makes a copy from a server of the same program; its URL and a new directory follow the arguments.
    Clone,
}

/// One command, as Mercurial and as git spell it.
#[derive(Clone, Debug)]
pub(super) struct MeasuredCommand {
    pub name: &'static str,
    pub effect: CommandEffect,
    pub hg: Words,
    pub git: Words,
    /// The file that a commit changes.
    pub file: OsString,
}

impl MeasuredCommand {
    pub fn is_reading(&self) -> bool {
        self.effect == CommandEffect::Read
    }
}

/// Name, effect, and the arguments of Mercurial and of git; `FILE` stands for a file.
type CommandRow = (
    &'static str,
    CommandEffect,
    &'static [&'static str],
    &'static [&'static str],
);

const FILE: &str = "FILE";

const COMMANDS: &[CommandRow] = &[
    ("status", CommandEffect::Read, &["status"], &["status"]),
    ("files", CommandEffect::Read, &["files"], &["ls-files"]),
    (
        "log -l 10",
        CommandEffect::Read,
        &["log", "-l", "10"],
        &["log", "-10"],
    ),
    ("log", CommandEffect::Read, &["log"], &["log"]),
    (
        "log FILE",
        CommandEffect::Read,
        &["log", FILE],
        &["log", "--", FILE],
    ),
    (
        "log -p -l 200",
        CommandEffect::Read,
        &["log", "-p", "-l", "200"],
        // Mercurial shows a merge against its first parent.
        &["log", "-p", "-200", "--diff-merges=first-parent"],
    ),
    (
        "diff -c tip",
        CommandEffect::Read,
        &["diff", "-c", "tip"],
        &["show", "--format=", "--diff-merges=first-parent", "HEAD"],
    ),
    (
        "cat FILE",
        CommandEffect::Read,
        &["cat", FILE],
        &["show", "HEAD:FILE"],
    ),
    (
        "annotate FILE",
        CommandEffect::Read,
        &["annotate", FILE],
        &["blame", "--", FILE],
    ),
    (
        "update from null",
        CommandEffect::Update,
        &["update", "-q", "tip"],
        &["reset", "-q", "--hard"],
    ),
    (
        "clone --stream",
        CommandEffect::Clone,
        &["clone", "-q", "-U", "--stream"],
        &["clone", "-q", "--bare"],
    ),
    (
        "clone --pull",
        CommandEffect::Clone,
        &["clone", "-q", "-U", "--pull"],
        &["clone", "-q", "--bare"],
    ),
    (
        "commit of a file",
        CommandEffect::Commit,
        &["commit", "-m", "one line more", "-d", "1700000000 0"],
        // The promise of the others: what was committed survives a power failure.
        &[
            "-c",
            "core.fsync=all",
            "-c",
            "gc.auto=0",
            "commit",
            "-q",
            "-a",
            "-m",
            "one line more",
        ],
    ),
];

/// All commands, with `file` as the one whose history is shown and which is changed.
pub(super) fn commands(file: &[u8]) -> Vec<MeasuredCommand> {
    let file = OsString::from_vec(file.to_vec());
    let with_file = |texts: &[&str]| -> Words {
        let texts = texts.iter().map(|text| match text.strip_suffix(FILE) {
            Some(before) => {
                let mut word = OsString::from(before);
                word.push(&file);
                word
            }
            None => OsString::from(text),
        });
        texts.collect()
    };
    let all = COMMANDS.iter();
    all.map(|(name, effect, hg, git)| MeasuredCommand {
        name,
        effect: *effect,
        hg: with_file(hg),
        git: with_file(git),
        file: file.clone(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_stands_in_its_place() {
        let all = commands(b"a b");
        let cat = all
            .iter()
            .find(|command| command.name == "cat FILE")
            .unwrap();
        assert_eq!(cat.hg, ["cat", "a b"]);
        assert_eq!(cat.git, ["show", "HEAD:a b"]);
        let status = all.iter().find(|command| command.name == "status").unwrap();
        assert_eq!(
            (status.hg.as_slice(), status.is_reading()),
            (&["status".into()][..], true)
        );
    }
}

//! Messages about rules, in Mercurial's words.

use crate::format::RepoError;
use std::fmt;
use std::io;
use varve_config::hgrc::HgrcError;
use varve_lang::patterns::PatternError;
use varve_revlog::Node;

/// A thing that rules are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlledItem {
    /// The branch of a changeset.
    Branch(Vec<u8>),
    /// A file that a changeset touches.
    File(Vec<u8>),
    /// A bookmark that is set or removed.
    Bookmark(Vec<u8>),
}

/// A step of a check, for `--debug`.
#[derive(Clone, Copy, Debug)]
pub enum AccessEvent<'a> {
    /// Changesets from `source` are not checked.
    Skipped {
        /// Origin of the changesets, such as `push`.
        source: &'a [u8],
    },
    /// The rules are read for a user.
    Checking {
        /// Login name.
        user: &'a [u8],
    },
    /// There is no such section.
    NotEnabled {
        /// Name without brackets.
        section: &'a str,
    },
    /// The section was read.
    Enabled {
        /// Name without brackets.
        section: &'a str,
        /// Rules that are about the user.
        entries: usize,
        /// Login name.
        user: &'a [u8],
    },
    /// The group is taken from the system.
    GroupNotConfigured(&'a [u8]),
    /// The branch of a changeset is not restricted.
    BranchGranted {
        /// The changeset.
        node: Node,
        /// Name of its branch.
        branch: &'a [u8],
    },
    /// No file of a changeset is restricted.
    FilesGranted {
        /// The changeset.
        node: Node,
    },
    /// A bookmark may move.
    BookmarkGranted {
        /// Name of the bookmark.
        bookmark: &'a [u8],
        /// Hexadecimal name of its new changeset; empty if it is removed.
        target: &'a [u8],
    },
}

/// Why a check refuses.
#[derive(Debug)]
pub enum AccessRefusal {
    /// A rule of a deny section names the user (`is_listed`), or none of an allow section does.
    Forbidden {
        /// Set if a deny section names the user.
        is_listed: bool,
        /// Login name.
        user: Vec<u8>,
        /// The branch, file or bookmark.
        item: ControlledItem,
        /// Hexadecimal name of the changeset, shortened for branches and files.
        changeset: Vec<u8>,
    },
    /// A group is known neither to `[acl.groups]` nor to the system.
    UndefinedGroup(Vec<u8>),
    /// A hook of this kind is called when nothing can be refused, or before anything is known.
    WrongKind(String),
    /// The file that `acl.config` names cannot be read.
    UnreadableConfig {
        /// As written.
        path: String,
        /// Error of the system.
        error: io::Error,
    },
    /// The file that `acl.config` names is no configuration.
    Config(HgrcError),
    /// A pattern that cannot be used.
    Pattern(PatternError),
    /// The pending changesets cannot be read.
    Repository(Box<RepoError>),
}

impl AccessRefusal {
    /// The line that tells the user of the hook `name` about it.
    pub fn report(&self, name: &[u8]) -> String {
        let name = shown(name);
        match self {
            AccessRefusal::UnreadableConfig { path, error } => {
                let number = error.raw_os_error().unwrap_or_default();
                let reason = system_reason(error);
                format!(
                    "error: {name} hook raised an exception: [Errno {number}] {reason}: b'{path}'\n"
                )
            }
            other => format!("error: {name} hook failed: {other}\n"),
        }
    }
}

impl From<RepoError> for AccessRefusal {
    fn from(error: RepoError) -> AccessRefusal {
        AccessRefusal::Repository(Box::new(error))
    }
}

fn shown(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The system's reason without its number.
fn system_reason(error: &io::Error) -> String {
    let words = error.to_string();
    let words = words.split(" (os error ").next();
    words.unwrap_or_default().to_owned()
}

impl fmt::Display for ControlledItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControlledItem::Branch(name) => write!(f, "branch \"{}\"", shown(name)),
            ControlledItem::File(path) => write!(f, "\"{}\"", shown(path)),
            ControlledItem::Bookmark(name) => write!(f, "bookmark \"{}\"", shown(name)),
        }
    }
}

impl fmt::Display for AccessRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AccessRefusal::Forbidden {
                is_listed,
                user,
                item,
                changeset,
            } => {
                let verdict = if *is_listed { "denied" } else { "not allowed" };
                let (user, changeset) = (shown(user), shown(changeset));
                write!(
                    f,
                    "acl: user \"{user}\" {verdict} on {item} (changeset \"{changeset}\")"
                )
            }
            AccessRefusal::UndefinedGroup(name) => {
                write!(f, "group '{}' is undefined", shown(name))
            }
            AccessRefusal::WrongKind(kind) => write!(
                f,
                "config error - hook type \"{kind}\" cannot stop incoming changesets, commits, nor bookmarks"
            ),
            AccessRefusal::UnreadableConfig { path, error } => {
                write!(f, "{}: '{path}'", system_reason(error))
            }
            AccessRefusal::Config(error) => error.fmt(f),
            AccessRefusal::Pattern(error) => error.fmt(f),
            AccessRefusal::Repository(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for AccessEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("acl: ")?;
        match *self {
            AccessEvent::Skipped { source } => {
                write!(f, "changes have source \"{}\" - skipping", shown(source))
            }
            AccessEvent::Checking { user } => {
                write!(f, "checking access for user \"{}\"", shown(user))
            }
            AccessEvent::NotEnabled { section } => write!(f, "{section} not enabled"),
            AccessEvent::Enabled {
                section,
                entries,
                user,
            } => {
                let user = shown(user);
                write!(f, "{section} enabled, {entries} entries for user {user}")
            }
            AccessEvent::GroupNotConfigured(name) => {
                write!(f, "\"{}\" not defined in [acl.groups]", shown(name))
            }
            AccessEvent::BranchGranted { node, branch } => write!(
                f,
                "branch access granted: \"{}\" on branch \"{}\"",
                shown(&node.to_hex()[..12]),
                shown(branch)
            ),
            AccessEvent::FilesGranted { node } => {
                write!(
                    f,
                    "path access granted: \"{}\"",
                    shown(&node.to_hex()[..12])
                )
            }
            AccessEvent::BookmarkGranted { bookmark, target } => {
                let (bookmark, target) = (shown(bookmark), shown(target));
                write!(
                    f,
                    "bookmark access granted: \"{target}\" on bookmark \"{bookmark}\""
                )
            }
        }
    }
}

//! Why a merge or an update treats a file as it does, in Mercurial's words.

use super::{FileAction, FileMerge};
use std::borrow::Cow;

/// The reason for a treatment, and the letters by which Mercurial calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The words; those that name a file have its bytes.
    pub words: Cow<'static, [u8]>,
    /// One or two letters.
    pub letters: &'static str,
}

impl Reason {
    pub(crate) const REMOVED_THERE: Reason = Reason::of("other deleted", "r");
    pub(crate) const CREATED_THERE: Reason = Reason::of("remote created", "g");
    pub(crate) const NEWER_THERE: Reason = Reason::of("remote is newer", "g");
    pub(crate) const MODE: Reason = Reason::of("update permissions", "e");
    pub(crate) const MISSING_HERE: Reason = Reason::of("forget deleted", "f");
    pub(crate) const REMOVED_HERE: Reason = Reason::of("forget removed", "f");
    pub(crate) const ADDED_HERE: Reason = Reason::of("remote deleted", "f");
    pub(crate) const KEPT: Reason = Reason::of("remote unchanged", "k");
    pub(crate) const KEPT_ABSENT: Reason = Reason::of("local not present, remote unchanged", "ka");
    pub(crate) const KEPT_NEW: Reason = Reason::of("ancestor missing, remote missing", "kn");

    const fn of(words: &'static str, letters: &'static str) -> Reason {
        Reason {
            words: Cow::Borrowed(words.as_bytes()),
            letters,
        }
    }

    /// Words that end with a path.
    fn about(words: &str, path: &[u8], letters: &'static str) -> Reason {
        Reason {
            words: [words.as_bytes(), b" ", path].concat().into(),
            letters,
        }
    }

    /// Why a file is merged; the names are ours, theirs, and that in the base. `moves` says that our name goes.
    pub(crate) fn to_merge([ours, theirs, base]: [Option<&[u8]>; 3], moves: bool) -> Reason {
        const LETTERS: &str = "m";
        let words = match (ours, theirs, base) {
            (_, None, _) => return Reason::of("prompt changed/deleted", LETTERS),
            (None, _, _) => return Reason::of("prompt deleted/changed", LETTERS),
            (_, _, None) if ours == theirs => return Reason::of("both created", LETTERS),
            (_, _, None) => return Reason::of("directory rename, both created", LETTERS),
            _ if ours == theirs && theirs == base => {
                return Reason::of("versions differ", LETTERS);
            }
            _ if ours == theirs => "both renamed from",
            _ if theirs == base => "local copied/moved from",
            _ if moves => "remote moved from",
            _ => "remote copied from",
        };
        Reason::about(words, base.unwrap_or_default(), LETTERS)
    }
}

impl FileAction {
    /// The reason; `is_here` says whether our side has a file of this path.
    pub(crate) fn reason(&self, is_here: bool) -> Reason {
        match self {
            FileAction::Keep => Reason::KEPT,
            FileAction::KeepAbsent => Reason::KEPT_ABSENT,
            FileAction::KeepNew => Reason::KEPT_NEW,
            FileAction::Get(_) if is_here => Reason::NEWER_THERE,
            FileAction::Get(_) => Reason::CREATED_THERE,
            FileAction::SetKind(_) => Reason::MODE,
            FileAction::Remove => Reason::REMOVED_THERE,
            FileAction::MoveOurs { from, .. } => {
                Reason::about("remote directory rename - move from", from, "dm")
            }
            FileAction::GetMoved { from, .. } => {
                Reason::about("local directory rename - get from", from, "dg")
            }
            FileAction::Merge(merge) => merge.reason(),
            FileAction::ChangedDeleted(_) => Reason::of("prompt changed/deleted", "cd"),
            FileAction::DeletedChanged(_) => Reason::of("prompt deleted/changed", "dc"),
        }
    }
}

impl FileMerge {
    fn reason(&self) -> Reason {
        let names = [&self.ours, &self.theirs, &self.base].map(Option::as_deref);
        Reason::to_merge(names, self.moves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_are_explained_by_the_names_of_their_sides() {
        let (a, b, odd) = (Some(&b"a"[..]), Some(&b"b"[..]), Some(&b"\xff"[..]));
        for (names, moves, words) in [
            ([a, a, a], false, &b"versions differ"[..]),
            ([a, a, None], false, b"both created"),
            ([a, b, None], false, b"directory rename, both created"),
            ([a, a, odd], false, b"both renamed from \xff"),
            ([b, a, a], false, b"local copied/moved from a"),
            ([a, b, a], false, b"remote copied from a"),
            ([odd, b, odd], true, b"remote moved from \xff"),
            ([a, None, a], false, b"prompt changed/deleted"),
            ([None, a, a], false, b"prompt deleted/changed"),
        ] {
            let reason = Reason::to_merge(names, moves);
            assert_eq!((&*reason.words, reason.letters), (words, "m"), "{names:?}");
        }
    }

    #[test]
    fn a_file_that_comes_is_new_or_newer() {
        let get = FileAction::Get(varve_repo::FileKind::Plain);
        assert_eq!(get.reason(true), Reason::NEWER_THERE);
        assert_eq!(get.reason(false), Reason::CREATED_THERE);
    }
}

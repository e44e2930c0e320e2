//! The names of the sides of a merge, as markers, questions and the merge state have them.

/// One name for each side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeLabels {
    /// Our side.
    pub ours: Vec<u8>,
    /// Their side.
    pub theirs: Vec<u8>,
    /// The base of both.
    pub base: Vec<u8>,
}

impl MergeLabels {
    fn new(ours: &str, theirs: &str, base: &str) -> MergeLabels {
        let [ours, theirs, base] = [ours, theirs, base].map(|name| name.as_bytes().to_vec());
        MergeLabels { ours, theirs, base }
    }

    /// Those of an update with local changes.
    pub fn of_update() -> MergeLabels {
        MergeLabels::new("working copy", "destination", "working copy parent")
    }

    /// Those of a merge of two changesets.
    pub fn of_merge() -> MergeLabels {
        MergeLabels::new("working copy", "merge rev", "common ancestor")
    }

    /// Those of a changeset whose changes are brought here.
    pub fn of_graft() -> MergeLabels {
        MergeLabels::new("local", "graft", "parent of graft")
    }

    /// Those of a changeset that is rebased.
    pub fn of_rebase() -> MergeLabels {
        MergeLabels::new("dest", "source", "parent of source")
    }

    /// Those of a changeset in an edited line of history.
    pub fn of_histedit() -> MergeLabels {
        MergeLabels::new(
            "already edited",
            "current change",
            "parent of current change",
        )
    }

    /// Those of a shelved change that is brought back.
    pub fn of_unshelve() -> MergeLabels {
        MergeLabels::new("working-copy", "shelved change", "parent of shelved change")
    }

    /// Those of a merge that names no sides; the merge state has no record of them.
    pub fn unnamed() -> MergeLabels {
        MergeLabels::new("local", "other", "base")
    }
}

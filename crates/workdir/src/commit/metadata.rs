//! The metadata of a changeset, apart from its files.

use crate::WorkdirError;
use varve_repo::{Changeset, NewChangeset, Node, Phase, RepoView, Rev};

/// Extra key of a changeset that closes its branch.
const CLOSE: &[u8] = b"close";
/// Extra key under which an amended changeset names the one that it replaces.
const AMEND_SOURCE: &[u8] = b"amend_source";
/// Extra key under which a changeset that has absorbed changes names the one whose place it takes.
const ABSORB_SOURCE: &[u8] = b"absorb_source";
/// Extra key under which a changeset with fixed files names the one that it replaces.
const FIX_SOURCE: &[u8] = b"fix_source";
/// Extra key under which a changeset that was moved to another branch names the one that it replaces.
const BRANCH_CHANGE: &[u8] = b"branch_change";
/// Extra key of the branch, which has a field of its own.
const BRANCH: &[u8] = b"branch";

/// The metadata of a new changeset.
#[derive(Clone, Copy, Debug)]
pub struct CommitMetadata<'a> {
    /// Name of the committer, usually with a mail address.
    pub user: &'a [u8],
    /// Seconds since 1970 and seconds west of UTC.
    pub date: (i64, i32),
    /// The named branch.
    pub branch: &'a [u8],
    /// Extra keys and values.
    pub extras: &'a [(&'a [u8], &'a [u8])],
    /// The description, as [`crate::message::tidy`] returns it.
    pub description: &'a [u8],
    /// The least phase; a higher one of the parents wins.
    pub phase: Phase,
}

impl CommitMetadata<'_> {
    /// Extra that closes the branch of a changeset.
    pub const CLOSING: (&'static [u8], &'static [u8]) = (CLOSE, b"1");

    /// A changeset with this metadata, still without files.
    pub(crate) fn changeset(&self, parents: [Node; 2]) -> NewChangeset<'_> {
        NewChangeset {
            parents,
            user: self.user,
            date: self.date,
            branch: self.branch,
            extras: self.extras,
            description: self.description,
            phase: self.phase,
            changes: &[],
        }
    }
}

/// The metadata of an existing changeset, to be changed for the one that replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangesetMetadata {
    /// Name of the committer.
    pub user: Vec<u8>,
    /// Seconds since 1970 and seconds west of UTC.
    pub date: (i64, i32),
    /// The named branch.
    pub branch: Vec<u8>,
    /// Extra keys and values, without the branch.
    pub extras: Vec<(Vec<u8>, Vec<u8>)>,
    /// The commit message, without a newline at its end.
    pub description: Vec<u8>,
}

impl ChangesetMetadata {
    /// Extra key under which a changeset whose amendment was undone names the amended one.
    pub const UNAMEND_SOURCE: &'static [u8] = b"unamend_source";
    /// Bit of [`ChangesetMetadata::effects`]: the description differs.
    pub const DESCRIPTION: u32 = 1;
    /// Bit of [`ChangesetMetadata::effects`]: extra keys or values differ.
    pub const EXTRAS: u32 = 2;
    /// Bit of an obsolescence marker: the parents differ.
    pub const PARENTS: u32 = 4;
    /// Bit of an obsolescence marker: the files differ.
    pub const CONTENT: u32 = 8;
    /// Bit of [`ChangesetMetadata::effects`]: the user differs.
    pub const USER: u32 = 16;
    /// Bit of [`ChangesetMetadata::effects`]: the date differs.
    pub const DATE: u32 = 32;
    /// Bit of [`ChangesetMetadata::effects`]: the branch differs.
    pub const BRANCH: u32 = 64;

    /// Reads the metadata of a changeset.
    ///
    /// # Errors
    /// If the changeset is damaged.
    pub fn read(view: &RepoView, rev: Rev) -> Result<ChangesetMetadata, WorkdirError> {
        let read = |changeset: Changeset<'_>| {
            let extras = changeset.extras();
            let extras = extras.map(|(key, value)| (key.into_owned(), value.into_owned()));
            ChangesetMetadata {
                user: changeset.user.to_vec(),
                date: (changeset.time, changeset.zone),
                branch: changeset.branch().into_owned(),
                extras: extras.filter(|(key, _)| key != BRANCH).collect(),
                description: changeset.description.to_vec(),
            }
        };
        Ok(view.with_changeset(rev, read)?)
    }

    /// Adds the extra that closes the branch.
    pub fn close_branch(&mut self) {
        let (key, value) = CommitMetadata::CLOSING;
        self.set_extra(key, value.to_vec());
    }

    /// Names the changeset that this one replaces.
    pub(super) fn set_amend_source(&mut self, source: &Node) {
        self.set_extra(AMEND_SOURCE, source.to_hex().to_vec());
    }

    /// Names the amended changeset whose place this one takes.
    pub fn set_unamend_source(&mut self, source: &Node) {
        self.set_extra(Self::UNAMEND_SOURCE, source.to_hex().to_vec());
    }

    /// Names the changeset whose place this one takes, with absorbed changes.
    pub(crate) fn set_absorb_source(&mut self, source: &Node) {
        self.set_extra(ABSORB_SOURCE, source.to_hex().to_vec());
    }

    /// Names the changeset whose files were fixed.
    pub(crate) fn set_fix_source(&mut self, source: &Node) {
        self.set_extra(FIX_SOURCE, source.to_hex().to_vec());
    }

    /// Moves a changeset to another branch and names the one on the old branch, which is returned.
    pub(super) fn change_branch(&mut self, branch: &[u8], source: &Node) -> Vec<u8> {
        self.set_extra(BRANCH_CHANGE, source.to_hex().to_vec());
        std::mem::replace(&mut self.branch, branch.to_vec())
    }

    /// Replaces or adds an extra; it becomes the last one.
    fn set_extra(&mut self, key: &[u8], value: Vec<u8>) {
        self.extras.retain(|(other, _)| other != key);
        self.extras.push((key.to_vec(), value));
    }

    /// The differences to the metadata of the replaced changeset, as the bits of the metadata key `ef1` of an
    /// obsolescence marker. Names of other changesets do not count.
    pub fn effects(&self, replaced: &ChangesetMetadata) -> u32 {
        let sorted = |extras: &[(Vec<u8>, Vec<u8>)]| {
            let mut extras = extras.to_vec();
            extras.retain(|(key, _)| !names_source(key));
            extras.sort_unstable();
            extras
        };
        let differences = [
            (self.description != replaced.description, Self::DESCRIPTION),
            (
                sorted(&self.extras) != sorted(&replaced.extras),
                Self::EXTRAS,
            ),
            (self.user != replaced.user, Self::USER),
            (self.date != replaced.date, Self::DATE),
            (self.branch != replaced.branch, Self::BRANCH),
        ];
        let bits = differences
            .iter()
            .map(|(differs, bit)| u32::from(*differs) * bit);
        bits.sum()
    }
}

/// Whether an extra names a changeset that this one was made of.
fn names_source(key: &[u8]) -> bool {
    key == b"source"
        || key == BRANCH_CHANGE
        || key.ends_with(b"-source")
        || key.ends_with(b"_source")
}

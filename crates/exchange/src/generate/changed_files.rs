//! Prerequisites of the groups of manifests and files: the files that the sent changesets change, and revisions
//! that these share with excluded changesets (secret ones, or no ancestors of a requested head).

use super::group::Sent;
use super::selection::Selection;
use crate::ExchangeError;
use std::collections::HashMap;
use varve_repo::{ChangedFiles, OutgoingSet, RepoView, Rev};

/// Changed files, and revisions that an excluded changeset stored first.
#[derive(Default)]
pub(super) struct Prerequisites {
    pub(super) files: ChangedFiles,
    /// Manifests that were first stored by excluded changesets, oldest first.
    pub(super) shared_manifests: Vec<Sent>,
    /// The same for files, by path.
    pub(super) shared_files: HashMap<Vec<u8>, Vec<Sent>>,
}

impl Prerequisites {
    /// Reads the sent changesets, and the excluded ones if there are any.
    pub(super) fn read(view: &RepoView, selection: &Selection) -> Result<Self, ExchangeError> {
        let (outgoing, excluded): (Vec<Rev>, Vec<Rev>) =
            (selection.sent().collect(), selection.excluded().collect());
        let changed = view.changed_files(&OutgoingSet {
            outgoing: &outgoing,
            excluded: &excluded,
        })?;
        let sent = |(rev, changeset): (Rev, Rev)| Sent {
            rev,
            changeset: view.changelog().node(changeset),
        };
        let shared = changed.shared_files.into_iter();
        let shared = shared.map(|(path, revs)| (path, revs.into_iter().map(sent).collect()));
        Ok(Prerequisites {
            files: changed.files,
            shared_files: shared.collect(),
            shared_manifests: changed.shared_manifests.into_iter().map(sent).collect(),
        })
    }
}

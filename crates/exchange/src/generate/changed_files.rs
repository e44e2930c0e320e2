//! What has to be known of the sent changesets before anything below them is written: the files
//! that they touch, and revisions that they share with changesets which are not sent (secret ones,
//! or those of a branch that nobody asked for).

use super::group::Sent;
use super::selection::Selection;
use crate::ExchangeError;
use std::collections::HashMap;
use varve_repo::{ChangedFiles, OutgoingSet, RepoView, Rev};

/// See above.
#[derive(Default)]
pub(super) struct Touched {
    pub(super) files: ChangedFiles,
    /// Manifests that were first stored by foreign changesets, oldest first.
    pub(super) shared_manifests: Vec<Sent>,
    /// The same for files, by path.
    pub(super) shared_files: HashMap<Vec<u8>, Vec<Sent>>,
}

impl Touched {
    /// Reads the sent changesets, and the foreign ones if there are any.
    pub(super) fn read(view: &RepoView, selection: &Selection) -> Result<Self, ExchangeError> {
        let (chosen, foreign): (Vec<Rev>, Vec<Rev>) =
            (selection.sent().collect(), selection.foreign().collect());
        let touched = view.changed_files(&OutgoingSet {
            outgoing: &chosen,
            excluded: &foreign,
        })?;
        let sent = |(rev, changeset): (Rev, Rev)| Sent {
            rev,
            changeset: view.changelog().node(changeset),
        };
        let shared = touched.shared_files.into_iter();
        let shared = shared.map(|(path, revs)| (path, revs.into_iter().map(sent).collect()));
        Ok(Touched {
            files: touched.files,
            shared_files: shared.collect(),
            shared_manifests: touched.shared_manifests.into_iter().map(sent).collect(),
        })
    }
}

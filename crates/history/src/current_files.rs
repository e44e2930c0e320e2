//! Documents of the files of the default head.

use crate::HistoryError;
use crate::ids::{FILE, id_of};
use crate::text::{node, text};
use std::collections::BTreeMap;
use varve_base::Interrupt;
use varve_json::{Object, Value};
use varve_repo::{Ancestors, FileKind, FileRevision, FileText, Node, RepoView, Rev, RevlogError};

/// A path's revision and kind.
pub(crate) type Entries = BTreeMap<Vec<u8>, (Node, FileKind)>;

/// Entries of the manifest of a changeset.
///
/// # Errors
/// A damaged changeset or manifest.
pub(crate) fn entries_of(view: &RepoView, changeset: Rev) -> Result<Entries, HistoryError> {
    let text = view.manifest_text(Some(changeset))?;
    let mut entries = Entries::new();
    for entry in view.manifest_entries(&text) {
        let entry = entry?;
        entries.insert(entry.path.to_vec(), (entry.node, entry.kind));
    }
    Ok(entries)
}

/// The id of a file's document.
pub(crate) fn id(path: &[u8]) -> String {
    id_of(FILE, path)
}

/// Makes the documents of a changeset's files.
pub(crate) struct FileReader<'v> {
    view: &'v RepoView,
    head: Rev,
    history: Ancestors<'v>,
}

impl<'v> FileReader<'v> {
    pub(crate) fn new(view: &'v RepoView, head: Rev) -> Self {
        FileReader {
            view,
            head,
            history: Ancestors::new(view.changelog(), &[head]),
        }
    }

    /// The document of one file.
    ///
    /// # Errors
    /// A damaged changeset, manifest or filelog; [`HistoryError::Interrupted`].
    pub(crate) fn document(
        &mut self,
        path: &[u8],
        (file_node, kind): &(Node, FileKind),
        stop: &Interrupt,
    ) -> Result<Object, HistoryError> {
        stop.check()?;
        let filelog = self.view.filelog(path)?;
        let mut document = Object::new();
        document.insert("type", "file");
        document.insert("path", text(path));
        let rev = filelog.rev(file_node);
        let size = match rev.map(|rev| filelog.text(rev)).transpose() {
            Ok(text) => text.map(|text| FileText::parse(&text).content.len() as u64),
            Err(RevlogError::Flagged { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        document.insert("size", size.map_or(Value::Null, Value::from));
        document.insert(
            "flags",
            match kind {
                FileKind::Executable => "x",
                FileKind::Symlink => "l",
                _ => "",
            },
        );
        document.insert("node", node(file_node));
        let introduced = match rev {
            Some(rev) => {
                let filelog = &filelog;
                let file = FileRevision { path, filelog, rev };
                let history = &mut self.history;
                self.view.introducing_changeset(file, history, self.head)?
            }
            None => None,
        };
        let changeset = introduced.map(|rev| node(&self.view.changelog().node(rev)));
        document.insert("changeset", changeset.unwrap_or(Value::Null));
        Ok(document)
    }
}

//! How far a database is filled, in a local document that is written in the same commit as the documents.
//!
//! ```json
//! {"settings": "1--f", "next": 12, "digest": "…", "is_complete": true, "files_of": "…", "data_of": "…"}
//! ```

use crate::HistoryError;
use crate::ids::CHECKPOINT;
use varve_docdb::{Edit, Snapshot};
use varve_json::{Object, Value};

/// State of a database that is made of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// Fingerprint of the settings that the documents were made with.
    pub(crate) settings: String,
    /// Changesets with lower numbers are documents, if they are shown.
    pub(crate) next: usize,
    /// Digest of these.
    pub(crate) digest: String,
    /// The documents of changesets, names and files were once those of one moment of the repository.
    pub(crate) is_complete: bool,
    /// The changeset whose files are documents, if any's are.
    pub(crate) files_of: Option<String>,
    /// The changeset whose data files are documents, if any's are.
    pub(crate) data_of: Option<String>,
}

impl Checkpoint {
    /// The checkpoint with its revision; `None` in a database that has none. A checkpoint that does not read is an empty
    /// one: everything is compared then.
    pub(crate) fn read(snapshot: &Snapshot) -> Result<Option<(Checkpoint, String)>, HistoryError> {
        let Some(document) = snapshot.local(CHECKPOINT)? else {
            return Ok(None);
        };
        let object = varve_json::parse_object(&document.body).unwrap_or_default();
        let text = |name: &str| object.get(name).and_then(Value::as_str).map(str::to_owned);
        let next = object.get("next").and_then(Value::as_u64).unwrap_or(0);
        let checkpoint = Checkpoint {
            settings: text("settings").unwrap_or_default(),
            next: usize::try_from(next).unwrap_or(0),
            digest: text("digest").unwrap_or_default(),
            is_complete: object.get("is_complete") == Some(&Value::Bool(true)),
            files_of: text("files_of"),
            data_of: text("data_of"),
        };
        Ok(Some((checkpoint, document.rev)))
    }

    /// The edit that puts it in the place of the one with this revision.
    pub(crate) fn edit(&self, rev: Option<&str>) -> Result<Edit, HistoryError> {
        let mut object = Object::new();
        object.insert("settings", self.settings.as_str());
        object.insert("next", self.next as u64);
        object.insert("digest", self.digest.as_str());
        object.insert("is_complete", self.is_complete);
        if let Some(files_of) = &self.files_of {
            object.insert("files_of", files_of.as_str());
        }
        if let Some(data_of) = &self.data_of {
            object.insert("data_of", data_of.as_str());
        }
        let refused = |source| HistoryError::Document {
            id: CHECKPOINT.to_owned(),
            source,
        };
        let mut edit = Edit::new(Some(CHECKPOINT), object).map_err(refused)?;
        if let Some(rev) = rev {
            edit.set_rev(rev).map_err(refused)?;
        }
        Ok(edit)
    }
}

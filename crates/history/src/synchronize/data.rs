//! Documents of data files and their items, as a part of bringing a database in step.
//!
//! The versions of a file are replayed, so that revisions of its items are their versions over history. The file's own document
//! names the changeset of the last version that was replayed, and with it all versions before: a fill that was cut short goes
//! on from there. Of a file whose history became another one, only the difference is written.

use super::{BATCH, Fill, ONE_COMMIT};
use crate::HistoryError;
use crate::data_items::{DataFormat, DataItems};
use crate::data_versions::{DataFileFinder, DataFiles, DataVersion, MOST_VERSIONS};
use crate::ids::{ITEM, ITEM_NAME, data_file_id};
use crate::labels::default_head;
use crate::replayed_items::{KnownItem, ReplayedItems};
use crate::text::{node, text};
use crate::writer::{CommitWriter, rows_below};
use std::collections::HashSet;
use varve_base::Unit;
use varve_json::{Object, Value};
use varve_repo::{FileText, Node, Rev, RevlogError};

/// Bytes of documents that wait for one commit, about.
const MOST_BYTES: usize = 64 << 20;

/// The next revision of a document; `None` deletes it.
type Revision = (String, Option<Object>);

/// Changes to the documents of data files that are left for the last commit.
#[derive(Default)]
pub(super) struct DataDocuments {
    revisions: Vec<Revision>,
    /// Bytes of their values, about.
    bytes: usize,
    /// Ids of the files whose documents stay; `None` if none has to go by comparison.
    wanted: Option<HashSet<String>>,
    /// Ids of files that are gone.
    gone: Vec<String>,
    /// The changeset whose data files they are.
    pub(super) head: Option<Node>,
}

impl DataDocuments {
    /// Adds them to the last commit.
    ///
    /// # Errors
    /// Damage of the database.
    pub(super) fn put(&self, writer: &mut CommitWriter<'_>) -> Result<(), HistoryError> {
        for (id, document) in &self.revisions {
            writer.append(id, document.as_ref())?;
        }
        let snapshot = writer.snapshot.clone();
        if let Some(wanted) = &self.wanted {
            let file = |id: &str| id.split(ITEM_NAME).next().unwrap_or_default().to_owned();
            writer.delete_others(ITEM, |id| wanted.contains(&file(id)))?;
        }
        for id in &self.gone {
            writer.append(id, None)?;
            for row in rows_below(&snapshot, &format!("{id}{ITEM_NAME}"))? {
                writer.append(row?.id(), None)?;
            }
        }
        Ok(())
    }

    fn push(&mut self, id: String, document: Option<Object>, bytes: usize) {
        self.bytes += bytes;
        self.revisions.push((id, document));
    }
}

/// How the versions of a file become revisions.
enum PendingVersions {
    /// The documents are those of the version before.
    Continued(Vec<DataVersion>),
    /// The documents are those of another history, if there are any.
    Anew(Vec<DataVersion>),
}

impl Fill<'_> {
    /// Makes the revisions of data files and items. Many of them are committed at once in batches.
    pub(super) fn fill_data(&mut self) -> Result<DataDocuments, HistoryError> {
        let head = match self.settings.data.is_empty() {
            true => None,
            false => default_head(self.shown)?,
        };
        let Some(head) = head else {
            let may_have_some =
                self.checkpoint.data_of.is_some() || self.may_be_of_other_settings();
            return Ok(DataDocuments {
                wanted: may_have_some.then(HashSet::new),
                ..DataDocuments::default()
            });
        };
        let mut data = DataDocuments {
            head: Some(self.view.changelog().node(head)),
            ..DataDocuments::default()
        };
        let before = self.data_before();
        if before == Some(head) {
            return Ok(data);
        }
        let finder = DataFileFinder::new(self.view, &self.settings.data, self.stop)?;
        let files = finder.files(head)?;
        let known = match before {
            Some(before) => finder
                .line(Some(before), head)
                .map(|line| Ok::<_, HistoryError>((line, finder.files(before)?)))
                .transpose()?,
            None => None,
        };
        let is_known = known.is_some();
        let (line, start) = match known {
            Some(known) => known,
            None => (
                finder.line(None, head).unwrap_or_default(),
                DataFiles::new(),
            ),
        };
        if is_known {
            let gone = start.keys().filter(|path| !files.contains_key(*path));
            data.gone = gone.map(|path| data_file_id(path)).collect();
        } else {
            data.wanted = Some(files.keys().map(|path| data_file_id(path)).collect());
        }
        let versions = finder.versions(&line, start, &files)?;
        self.progress
            .begin("data files", Unit::Items, Some(versions.len() as u64));
        for (path, versions) in versions {
            self.progress.advance(1);
            self.follow_data_file(&path, (versions, is_known), &mut data)?;
        }
        Ok(data)
    }

    /// The changeset whose data files are documents, if all of them are.
    fn data_before(&self) -> Option<Rev> {
        let known = self.checkpoint.data_of.as_ref();
        let same_settings = self.checkpoint.settings == self.settings.fingerprint();
        let known = known.filter(|_| self.checkpoint.is_complete && same_settings);
        let node = Node::from_hex(known?.as_bytes())?;
        self.view.changelog().rev(&node)
    }

    /// Makes the revisions of one file and its items. With `is_known` the versions are those behind the documents.
    fn follow_data_file(
        &mut self,
        path: &[u8],
        (versions, is_known): (Vec<DataVersion>, bool),
        data: &mut DataDocuments,
    ) -> Result<(), HistoryError> {
        let id = data_file_id(path);
        let Some(format) = DataFormat::of_path(path) else {
            return Ok(());
        };
        let stored = self.stored_changeset(&id)?;
        match pending_versions(versions, is_known, stored.as_ref(), |rev| self.name(rev)) {
            PendingVersions::Continued(versions) if versions.is_empty() => Ok(()),
            PendingVersions::Continued(versions) => {
                let mut items = self.stored_items(&id)?;
                for version in versions {
                    let changes = self.replay(path, format, version, &mut items)?;
                    for (name, value) in changes.items {
                        let item = items.document(path, &name).filter(|_| value);
                        data.push(format!("{id}{ITEM_NAME}{name}"), item, changes.bytes_each);
                    }
                    data.push(id.clone(), Some(changes.file), 0);
                    self.commit_if_many(data)?;
                }
                Ok(())
            }
            PendingVersions::Anew(versions) => {
                self.replace_data_file(path, format, &versions, data)
            }
        }
    }

    /// Makes one revision of all documents that differ from those which the versions lead to.
    fn replace_data_file(
        &mut self,
        path: &[u8],
        format: DataFormat,
        versions: &[DataVersion],
        data: &mut DataDocuments,
    ) -> Result<(), HistoryError> {
        let id = data_file_id(path);
        let mut items = ReplayedItems::default();
        let Some((newest, older)) = versions.split_last() else {
            return Ok(());
        };
        for version in older {
            self.replay(path, format, *version, &mut items)?;
        }
        let file = self.replay(path, format, *newest, &mut items)?.file;
        let stored = self.stored_items(&id)?;
        let gone = stored
            .known
            .keys()
            .filter(|name| !items.known.contains_key(*name));
        for name in gone {
            data.push(format!("{id}{ITEM_NAME}{name}"), None, 0);
        }
        for (name, item) in &items.known {
            if stored.known.get(name) != Some(item) {
                let document = items.document(path, name);
                data.push(format!("{id}{ITEM_NAME}{name}"), document, 0);
            }
        }
        data.push(id, Some(file), 0);
        self.commit_if_many(data)
    }

    /// Commits the revisions so far, if they are too many to wait. The last document of a file's version tells how far a fill
    /// has come, so the next one goes on from any commit.
    fn commit_if_many(&mut self, data: &mut DataDocuments) -> Result<(), HistoryError> {
        let most = match self.checkpoint.is_complete {
            true => ONE_COMMIT,
            false => BATCH,
        };
        if data.revisions.len() < most && data.bytes < MOST_BYTES {
            return Ok(());
        }
        let ready = DataDocuments {
            revisions: std::mem::take(&mut data.revisions),
            ..DataDocuments::default()
        };
        data.bytes = 0;
        let mut writer = CommitWriter::new(self.database);
        ready.put(&mut writer)?;
        match writer.len() {
            0 => Ok(()),
            _ => self.commit(writer),
        }
    }

    /// The node of a changeset, as documents name it.
    fn name(&self, changeset: Rev) -> Value {
        node(&self.view.changelog().node(changeset))
    }

    /// The member `changeset` of a stored document.
    fn stored_changeset(&self, id: &str) -> Result<Option<Value>, HistoryError> {
        let snapshot = self.database.snapshot();
        let stored = snapshot.document(id)?;
        let Some((_, body)) = stored.as_ref().and_then(|stored| stored.winner()) else {
            return Ok(None);
        };
        if body.deleted {
            return Ok(None);
        }
        let mut json = Vec::new();
        snapshot.body(body, &mut json)?;
        let mut document = varve_json::parse_object(&json).unwrap_or_default();
        Ok(Some(document.remove("changeset").unwrap_or_default()))
    }

    /// The stored items of a file.
    fn stored_items(&self, id: &str) -> Result<ReplayedItems, HistoryError> {
        let snapshot = self.database.snapshot();
        let prefix = format!("{id}{ITEM_NAME}");
        let mut items = ReplayedItems::default();
        let mut json = Vec::new();
        for row in rows_below(&snapshot, &prefix)? {
            let row = row?;
            json.clear();
            snapshot.body(&row.stored, &mut json)?;
            let mut document = varve_json::parse_object(&json).unwrap_or_default();
            let value = document.remove("value").unwrap_or_default();
            let changeset = document.remove("changeset").unwrap_or_default();
            let name = row.id()[prefix.len()..].to_owned();
            items.known.insert(name, KnownItem::new(&value, changeset));
        }
        Ok(items)
    }

    /// The items of a revision of a file, or why there are none; and the length of its content in bytes.
    fn read_items(
        &self,
        path: &[u8],
        format: DataFormat,
        node: &Node,
    ) -> Result<(Result<DataItems, String>, usize), HistoryError> {
        let filelog = self.view.filelog(path)?;
        let Some(rev) = filelog.rev(node) else {
            return Ok((Err("its content is missing".to_owned()), 0));
        };
        match filelog.text(rev) {
            Ok(text) => {
                let content = FileText::parse(&text).content;
                Ok((DataItems::read(format, content), content.len()))
            }
            Err(error @ RevlogError::Flagged { .. }) => Ok((Err(error.to_string()), 0)),
            Err(error) => Err(error.into()),
        }
    }

    /// Leads the items of a file to its next version. Those of one that cannot be read stay as they were.
    fn replay(
        &self,
        path: &[u8],
        format: DataFormat,
        version: DataVersion,
        items: &mut ReplayedItems,
    ) -> Result<FileChanges, HistoryError> {
        self.stop.check()?;
        let changeset = self.name(version.changeset);
        let (read, len) = match &version.node {
            Some(node) => self.read_items(path, format, node)?,
            None => (Ok(DataItems::default()), 0),
        };
        let mut file = Object::new();
        file.insert("type", "data");
        file.insert("path", text(path));
        file.insert("changeset", changeset.clone());
        let (mut changed, mut problems) = (Vec::new(), Vec::new());
        match read {
            Ok(read) => {
                changed = items.lead_to(read.values, &changeset);
                problems = read.problems;
            }
            Err(problem) => problems.push(problem),
        }
        file.insert("items", items.known.len() as u64);
        let problems: Value = problems.into_iter().map(Value::from).collect();
        file.insert("problems", problems);
        Ok(FileChanges {
            bytes_each: len / changed.len().max(1),
            items: changed,
            file,
        })
    }
}

/// Documents that the version of a file changes.
struct FileChanges {
    /// Names of items, and whether they are there.
    items: Vec<(String, bool)>,
    /// Bytes of one of them, about.
    bytes_each: usize,
    /// The file's own document.
    file: Object,
}

/// The versions of a file that are to be replayed, by the changeset that its document names.
fn pending_versions(
    mut versions: Vec<DataVersion>,
    is_known: bool,
    stored: Option<&Value>,
    name: impl Fn(Rev) -> Value,
) -> PendingVersions {
    let Some(stored) = stored else {
        return PendingVersions::Continued(versions);
    };
    let is_stored = |version: &DataVersion| name(version.changeset) == *stored;
    match versions.iter().position(is_stored) {
        Some(at) => PendingVersions::Continued(versions.split_off(at + 1)),
        // Older versions than these may be missing between.
        None if is_known && versions.len() < MOST_VERSIONS => PendingVersions::Continued(versions),
        None => PendingVersions::Anew(versions),
    }
}

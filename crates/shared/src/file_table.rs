//! The tree of files as the log describes it: lengths, and which ranges of segments have their bytes.

use crate::format::{AppendedBytes, Checkpoint, FileRun, Operation, SegmentName, TreeEntry};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A file: the first `sealed` bytes are in segments, the others only in records and in local copies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableFile {
    pub(crate) len: u64,
    /// Sum of the lengths of `runs`.
    pub(crate) sealed: u64,
    pub(crate) runs: Vec<FileRun>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    File(TableFile),
    Directory,
    Symlink(String),
}

/// All files, directories and links of a log at one position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileTable {
    nodes: BTreeMap<PathBuf, Node>,
}

const NO_FILE: &str = "it changes a file that is not there";
const TAKEN: &str = "it makes a file that is there already";
const NO_ENTRY: &str = "it moves or removes an entry that is not there";

impl FileTable {
    pub(crate) fn from_checkpoint(checkpoint: Checkpoint) -> FileTable {
        let node = |entry| match entry {
            TreeEntry::File(runs) => {
                let sealed = runs.iter().map(|run| run.len).sum();
                Node::File(TableFile {
                    len: sealed,
                    sealed,
                    runs,
                })
            }
            TreeEntry::Directory => Node::Directory,
            TreeEntry::Symlink(target) => Node::Symlink(target),
        };
        let entries = checkpoint.entries.into_iter();
        FileTable {
            nodes: entries.map(|(path, entry)| (path, node(entry))).collect(),
        }
    }

    /// The whole tree; all bytes must be in segments.
    pub(crate) fn to_entries(&self) -> Vec<(PathBuf, TreeEntry)> {
        let entry = |node: &Node| match node {
            Node::File(file) => TreeEntry::File(file.runs.clone()),
            Node::Directory => TreeEntry::Directory,
            Node::Symlink(target) => TreeEntry::Symlink(target.clone()),
        };
        let nodes = self.nodes.iter();
        nodes
            .map(|(path, node)| (path.clone(), entry(node)))
            .collect()
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = (&Path, &TableFile)> {
        self.nodes.iter().filter_map(|(path, node)| match node {
            Node::File(file) => Some((path.as_path(), file)),
            Node::Directory | Node::Symlink(_) => None,
        })
    }

    pub(crate) fn file_at(&self, path: &Path) -> Option<&TableFile> {
        match self.nodes.get(path) {
            Some(Node::File(file)) => Some(file),
            Some(Node::Directory | Node::Symlink(_)) | None => None,
        }
    }

    pub(crate) fn files_mut(&mut self) -> impl Iterator<Item = (&Path, &mut TableFile)> {
        self.nodes.iter_mut().filter_map(|(path, node)| match node {
            Node::File(file) => Some((path.as_path(), file)),
            Node::Directory | Node::Symlink(_) => None,
        })
    }

    /// Segments that the files need.
    pub(crate) fn segments(&self) -> BTreeSet<SegmentName> {
        let runs = self.files().flat_map(|(_, file)| &file.runs);
        runs.map(|run| run.segment.clone()).collect()
    }

    fn file(&mut self, path: &Path) -> Result<&mut TableFile, &'static str> {
        match self.nodes.get_mut(path) {
            Some(Node::File(file)) => Ok(file),
            _ => Err(NO_FILE),
        }
    }

    /// Changes the table as a record says.
    ///
    /// # Errors
    /// The rule that the operation breaks; the table is then unchanged.
    pub(crate) fn apply(&mut self, operation: &Operation) -> Result<(), &'static str> {
        match operation {
            Operation::Create(path) => self.make(path, Node::File(TableFile::default())),
            Operation::Append {
                path,
                offset,
                bytes,
            } => self.append(path, *offset, bytes),
            Operation::Truncate { path, len } => self.truncate(path, *len),
            Operation::Rename { from, to } => self.rename(from, to),
            Operation::Exchange { one, other } => self.exchange(one, other),
            Operation::Remove(path) => match self.nodes.get(path) {
                Some(Node::File(_) | Node::Symlink(_)) => {
                    self.nodes.remove(path);
                    Ok(())
                }
                _ => Err(NO_ENTRY),
            },
            Operation::RemoveTree(directory) => {
                self.nodes.retain(|path, _| !path.starts_with(directory));
                Ok(())
            }
            Operation::CreateDirectory(directory) => {
                for path in directory
                    .ancestors()
                    .filter(|it| !it.as_os_str().is_empty())
                {
                    self.nodes.entry(path.to_owned()).or_insert(Node::Directory);
                }
                Ok(())
            }
            Operation::Link { from, to } => {
                let file = self.file(from)?.clone();
                self.make(to, Node::File(file))
            }
            Operation::Symlink { target, path } => self.make(path, Node::Symlink(target.clone())),
        }
    }

    fn make(&mut self, path: &Path, node: Node) -> Result<(), &'static str> {
        if path.as_os_str().is_empty() || self.nodes.contains_key(path) {
            return Err(TAKEN);
        }
        self.nodes.insert(path.to_owned(), node);
        Ok(())
    }

    fn append(
        &mut self,
        path: &Path,
        offset: u64,
        bytes: &AppendedBytes,
    ) -> Result<(), &'static str> {
        let file = self.file(path)?;
        if offset != file.len {
            return Err("it appends to a file of another length");
        }
        let len = file
            .len
            .checked_add(bytes.len())
            .ok_or("a file is too long")?;
        if let AppendedBytes::Segment { name, offset, len } = bytes {
            offset
                .checked_add(*len)
                .ok_or("a range of a segment is too long")?;
            if file.sealed == file.len {
                file.sealed += len;
                let (segment, offset, len) = (name.clone(), *offset, *len);
                file.runs.push(FileRun {
                    segment,
                    offset,
                    len,
                });
            }
        }
        file.len = len;
        Ok(())
    }

    fn truncate(&mut self, path: &Path, len: u64) -> Result<(), &'static str> {
        let file = self.file(path)?;
        if len > file.len {
            return Err("it cuts a file to more than it has");
        }
        file.cut_runs(len);
        file.len = len;
        Ok(())
    }

    fn rename(&mut self, from: &Path, to: &Path) -> Result<(), &'static str> {
        if !self.nodes.contains_key(from) || to.starts_with(from) && to != from {
            return Err(NO_ENTRY);
        }
        let moved = self.take_tree(from);
        if let [(_, Node::File(_) | Node::Symlink(_))] = moved.as_slice() {
            self.nodes.remove(to);
        }
        self.nodes.extend(
            moved
                .into_iter()
                .map(|(path, node)| (moved_path(&path, from, to), node)),
        );
        Ok(())
    }

    fn exchange(&mut self, one: &Path, other: &Path) -> Result<(), &'static str> {
        let both = self.nodes.contains_key(one) && self.nodes.contains_key(other);
        if !both || one.starts_with(other) || other.starts_with(one) {
            return Err(NO_ENTRY);
        }
        let (first, second) = (self.take_tree(one), self.take_tree(other));
        let first = first
            .into_iter()
            .map(|(path, node)| (moved_path(&path, one, other), node));
        let second = second
            .into_iter()
            .map(|(path, node)| (moved_path(&path, other, one), node));
        self.nodes.extend(first.chain(second));
        Ok(())
    }

    fn take_tree(&mut self, root: &Path) -> Vec<(PathBuf, Node)> {
        self.nodes
            .extract_if(.., |path, _| path.starts_with(root))
            .collect()
    }
}

/// A path below `from` as it is called once `from` is `to`.
pub(crate) fn moved_path(path: &Path, from: &Path, to: &Path) -> PathBuf {
    match path.strip_prefix(from) {
        Ok(rest) if rest.as_os_str().is_empty() => to.to_owned(),
        Ok(rest) => to.join(rest),
        Err(_) => path.to_owned(),
    }
}

impl TableFile {
    /// Forgets runs behind `len`.
    pub(crate) fn cut_runs(&mut self, len: u64) {
        while self.sealed > len {
            let Some(run) = self.runs.last_mut() else {
                return;
            };
            let excess = self.sealed - len;
            if run.len > excess {
                run.len -= excess;
                self.sealed = len;
            } else {
                self.sealed -= run.len;
                self.runs.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append(path: &str, offset: u64, len: u64) -> Operation {
        let name = SegmentName {
            slot: 1,
            hash: [1; 16],
            nonce: [2; 16],
        };
        let bytes = AppendedBytes::Segment {
            name,
            offset: 0,
            len,
        };
        Operation::Append {
            path: path.into(),
            offset,
            bytes,
        }
    }

    fn inline(path: &str, offset: u64, len: usize) -> Operation {
        let bytes = AppendedBytes::Inline(vec![0; len]);
        Operation::Append {
            path: path.into(),
            offset,
            bytes,
        }
    }

    #[test]
    fn runs_follow_appends_and_cuts() {
        let mut table = FileTable::default();
        table.apply(&Operation::Create("a".into())).unwrap();
        table.apply(&append("a", 0, 10)).unwrap();
        table.apply(&append("a", 10, 5)).unwrap();
        table.apply(&inline("a", 15, 3)).unwrap();
        table.apply(&append("a", 18, 5)).unwrap();
        let file = table.file(Path::new("a")).unwrap().clone();
        assert_eq!((file.len, file.sealed, file.runs.len()), (23, 15, 2));
        table
            .apply(&Operation::Truncate {
                path: "a".into(),
                len: 12,
            })
            .unwrap();
        let file = table.file(Path::new("a")).unwrap().clone();
        assert_eq!((file.len, file.sealed, file.runs[1].len), (12, 12, 2));
        table
            .apply(&Operation::Truncate {
                path: "a".into(),
                len: 10,
            })
            .unwrap();
        assert_eq!(table.file(Path::new("a")).unwrap().runs.len(), 1);
        assert!(table.apply(&append("a", 9, 1)).is_err());
        assert!(table.apply(&append("b", 0, 1)).is_err());
        assert!(table.apply(&append("a", 10, u64::MAX)).is_err());
    }

    #[test]
    fn directories_move_with_all_below() {
        let mut table = FileTable::default();
        for path in ["d/x", "d/y", "e"] {
            table
                .apply(&Operation::CreateDirectory("d".into()))
                .unwrap();
            table.apply(&Operation::Create(path.into())).unwrap();
        }
        let rename = |from: &str, to: &str| Operation::Rename {
            from: from.into(),
            to: to.into(),
        };
        table.apply(&rename("d", "f")).unwrap();
        table.apply(&rename("e", "f/x")).unwrap();
        let paths: Vec<_> = table.files().map(|(path, _)| path.to_owned()).collect();
        assert_eq!(paths, [PathBuf::from("f/x"), PathBuf::from("f/y")]);
        assert!(table.apply(&rename("f", "f/g")).is_err());
        assert!(table.apply(&rename("e", "h")).is_err());
        let exchange = Operation::Exchange {
            one: "f/x".into(),
            other: "f/y".into(),
        };
        table.apply(&exchange).unwrap();
        table.apply(&Operation::RemoveTree("f".into())).unwrap();
        assert_eq!(table, FileTable::default());
    }
}

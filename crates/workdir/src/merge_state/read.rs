//! Reading the state of a merge that this program or Mercurial began.

use super::record::Records;
use super::state::{ANCESTOR, FileState, MergeState, Present};
use super::{NEWER_LIST, read_list};
use crate::{MergeLabels, WorkdirError};
use varve_repo::{FileKind, Node, Repository};

/// Fields of a file's record.
const FILE_FIELDS: usize = 9;

impl MergeState {
    /// The merge that is under way, if there is one.
    ///
    /// # Errors
    /// [`WorkdirError::DamagedMergeState`], [`WorkdirError::UnknownMergeRecords`]; a failure of the storage.
    pub fn read(repository: &Repository) -> Result<Option<MergeState>, WorkdirError> {
        let list = read_list(repository, NEWER_LIST)?;
        list.map(|bytes| MergeState::parse(&bytes)).transpose()
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<MergeState, WorkdirError> {
        let mut state = MergeState::new(Node::NULL, Node::NULL, MergeLabels::unnamed());
        let mut unknown = String::new();
        let mut sides = [false; 2];
        for (kind, content) in Records::new(bytes) {
            let content = content.ok_or(WorkdirError::DamagedMergeState)?;
            match kind {
                b'L' => (state.local, sides[0]) = (node(content)?, true),
                b'O' => (state.other, sides[1]) = (node(content)?, true),
                b'F' | b'C' => {
                    let file = parse_file(content)?;
                    state.files.insert(file.path.clone(), file);
                }
                b'P' | b'D' => state.of_paths.push((kind, content.to_vec())),
                b'f' => state.note_extras(content)?,
                b'l' => state.labels = parse_labels(content),
                // Small letters are for programs that know them.
                b'a'..=b'z' => {}
                _ => unknown.push(char::from(kind)),
            }
        }
        if !unknown.is_empty() {
            return Err(WorkdirError::UnknownMergeRecords(unknown));
        }
        // Both sides are needed to merge a file again.
        if sides != [true; 2] {
            return Err(WorkdirError::DamagedMergeState);
        }
        for (path, file) in &mut state.files {
            let known = state
                .extras
                .get(path)
                .and_then(|extras| extras.get(ANCESTOR));
            file.ancestor = known
                .and_then(|hex| Node::from_hex(hex))
                .unwrap_or(Node::NULL);
        }
        Ok(state)
    }

    fn note_extras(&mut self, content: &[u8]) -> Result<(), WorkdirError> {
        let mut fields = content.split(|byte| *byte == 0);
        let path = fields.next().unwrap_or_default();
        let extras = self.extras.entry(path.to_vec()).or_default();
        while let Some(key) = fields.next() {
            let value = fields.next().ok_or(WorkdirError::DamagedMergeState)?;
            extras.insert(key.to_vec(), value.to_vec());
        }
        Ok(())
    }
}

fn node(hex: &[u8]) -> Result<Node, WorkdirError> {
    Node::from_hex(hex).ok_or(WorkdirError::DamagedMergeState)
}

fn parse_labels(content: &[u8]) -> MergeLabels {
    let mut names = content.split(|byte| *byte == 0).map(<[u8]>::to_vec);
    let usual = MergeLabels::unnamed();
    MergeLabels {
        ours: names
            .next()
            .filter(|name| !name.is_empty())
            .unwrap_or(usual.ours),
        theirs: names
            .next()
            .filter(|name| !name.is_empty())
            .unwrap_or(usual.theirs),
        base: names
            .next()
            .filter(|name| !name.is_empty())
            .unwrap_or(usual.base),
    }
}

fn parse_file(content: &[u8]) -> Result<FileState, WorkdirError> {
    let fields: Vec<&[u8]> = content.split(|byte| *byte == 0).collect();
    let [
        path,
        state,
        key,
        ours,
        base,
        base_node,
        theirs,
        their_node,
        flags,
    ] = <[&[u8]; FILE_FIELDS]>::try_from(fields).map_err(|_| WorkdirError::DamagedMergeState)?;
    let side = |path: &[u8], hex: &[u8]| -> Result<Option<Present>, WorkdirError> {
        let node = node(hex)?;
        let path = path.to_vec();
        Ok((!node.is_null()).then_some(Present { path, node }))
    };
    Ok(FileState {
        path: path.to_vec(),
        same: false,
        resolved: state != b"u",
        ours: (!node(key)?.is_null()).then(|| ours.to_vec()),
        kind: match flags {
            b"x" => FileKind::Executable,
            b"l" => FileKind::Symlink,
            _ => FileKind::Plain,
        },
        base: side(base, base_node)?,
        theirs: side(theirs, their_node)?,
        ancestor: Node::NULL,
    })
}

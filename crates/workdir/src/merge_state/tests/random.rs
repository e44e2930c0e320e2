//! Random merges: written as Mercurial reads them, and read back by this program.

use super::super::record::Records;
use super::super::{
    FileState, MergeState, Present, clear_merge, count_unresolved, has_unresolved, is_there,
    other_side, unresolved,
};
use crate::{MergeLabels, WorkdirError};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use varve_base::DiskStorage;
use varve_repo::{FileKind, Node, Repository};

fn sides() -> impl Strategy<Value = Option<Present>> {
    let present = ("[a-z/]{1,9}", any::<[u8; 20]>());
    let present = present.prop_map(|(path, node)| Present {
        path: path.into_bytes(),
        node: Node(node),
    });
    prop::option::weighted(0.8, present)
}

fn states() -> impl Strategy<Value = MergeState> {
    let kind = prop::sample::select(vec![
        FileKind::Plain,
        FileKind::Executable,
        FileKind::Symlink,
    ]);
    let ours = prop::option::weighted(0.8, "[a-z/]{1,9}");
    let file = (
        any::<[bool; 2]>(),
        ours,
        kind,
        sides(),
        sides(),
        any::<[u8; 20]>(),
    );
    let files = proptest::collection::btree_map("[a-z]{1,6}", file, 0..8);
    (any::<[[u8; 20]; 2]>(), files).prop_map(|([local, other], files)| {
        let mut state = MergeState::new(Node(local), Node(other), MergeLabels::of_merge());
        for (path, ([same, resolved], ours, kind, base, theirs, ancestor)) in files {
            let ancestor = match base {
                Some(_) => Node(ancestor),
                None => Node::NULL,
            };
            state.add(FileState {
                path: path.into_bytes(),
                same,
                resolved,
                ours: ours.map(String::into_bytes),
                kind,
                base,
                theirs,
                ancestor,
            });
        }
        state
    })
}

fn repository() -> (tempfile::TempDir, Repository) {
    let directory = tempfile::tempdir().unwrap();
    let storage = Arc::new(DiskStorage::new(""));
    let repository = Repository::create(storage, directory.path()).unwrap();
    (directory, repository)
}

fn read(directory: &Path, name: &str) -> Vec<u8> {
    std::fs::read(directory.join(".hg/merge").join(name)).unwrap()
}

/// The fields of all records of one type.
fn fields(bytes: &[u8], wanted: u8) -> Vec<Vec<Vec<u8>>> {
    let records = Records::new(bytes).filter(|(kind, _)| *kind == wanted);
    let split = |content: &[u8]| {
        content
            .split(|byte| *byte == 0)
            .map(<[u8]>::to_vec)
            .collect()
    };
    records
        .map(|(_, content)| split(content.unwrap()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_written_is_read_back(state in states()) {
        let (directory, repository) = repository();
        prop_assert!(!is_there(&repository));
        prop_assert_eq!(other_side(&repository).unwrap(), None);
        state.write(&repository).unwrap();
        prop_assert!(is_there(&repository));
        let waiting = state.unresolved();
        prop_assert_eq!(MergeState::read(&repository).unwrap(), Some(state.clone()));
        prop_assert_eq!(unresolved(&repository).unwrap(), waiting);
        prop_assert_eq!(has_unresolved(&repository).unwrap(), waiting > 0);
        prop_assert_eq!(other_side(&repository).unwrap(), Some(state.other));
        let bytes = read(directory.path(), "state2");
        prop_assert_eq!(fields(&bytes, b'L'), vec![vec![state.local.to_string().into_bytes()]]);
        let merged: Vec<&FileState> = state.files().collect();
        let is_deleted = |file: &FileState| file.ours.is_none() || file.theirs.is_none();
        for (kind, deleted) in [(b'F', false), (b'C', true)] {
            let found = fields(&bytes, kind);
            let expected: Vec<&&FileState> = merged.iter().filter(|file| is_deleted(file) == deleted).collect();
            prop_assert_eq!(found.len(), expected.len());
            for (fields, file) in found.iter().zip(expected) {
                prop_assert_eq!(fields.len(), 9);
                prop_assert_eq!(&fields[0], &file.path);
                prop_assert_eq!(&fields[1][..], if file.resolved { b"r" } else { b"u" });
                prop_assert_eq!(&fields[3], file.ours.as_ref().unwrap_or(&file.path));
                let node = |side: &Option<Present>| side.as_ref().map_or(Node::NULL, |side| side.node);
                prop_assert_eq!(&fields[5], &node(&file.base).to_string().into_bytes());
                prop_assert_eq!(&fields[7], &node(&file.theirs).to_string().into_bytes());
                let has_ours = fields[2] != Node::NULL.to_string().into_bytes();
                prop_assert_eq!(has_ours, file.ours.is_some());
            }
        }
        // Extras of every file, sorted by path; those of files without a base name no changeset.
        let extras = fields(&bytes, b'f');
        prop_assert_eq!(extras.len(), state.extras.len());
        prop_assert!(extras.is_sorted_by_key(|fields| &fields[0]));
        // Programs of before 2011 read nothing of deleted files.
        let old = read(directory.path(), "state");
        let lines = old.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        prop_assert_eq!(lines, 1 + merged.iter().filter(|file| !is_deleted(file)).count());
        clear_merge(&repository).unwrap();
        prop_assert!(!is_there(&repository) && !directory.path().join(".hg/merge").exists());
        clear_merge(&repository).unwrap();
    }

    /// A state that is cut within a record counts that record as a conflict, so nothing is committed by mistake; and only
    /// a state with both sides and whole records is read.
    #[test]
    fn a_cut_state_hides_no_conflict(state in states()) {
        let (directory, repository) = repository();
        state.write(&repository).unwrap();
        let bytes = read(directory.path(), "state2");
        let all = count_unresolved(&bytes);
        for len in 0..bytes.len() {
            let left: Vec<_> = Records::new(&bytes[..len]).collect();
            let torn = left.iter().filter(|(_, content)| content.is_none()).count();
            prop_assert!(torn <= 1 && left.len() <= torn + Records::new(&bytes).count());
            let count = count_unresolved(&bytes[..len]);
            prop_assert!(count >= torn && count <= all + torn);
            let has = |wanted: u8| left.iter().any(|(kind, _)| *kind == wanted);
            let is_sound = torn == 0 && has(b'L') && has(b'O');
            match MergeState::parse(&bytes[..len]) {
                Ok(read) => {
                    prop_assert!(is_sound, "{len}");
                    prop_assert_eq!((read.local, read.other), (state.local, state.other));
                    let mut files = read.files().zip(state.files());
                    prop_assert!(files.all(|(read, written)| read.path == written.path && read.ours == written.ours));
                    prop_assert_eq!(read.unresolved(), count);
                }
                Err(error) => {
                    prop_assert!(!is_sound, "{len}");
                    prop_assert!(matches!(error, WorkdirError::DamagedMergeState), "{error:?}");
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_read_to_their_end(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let records: Vec<_> = Records::new(&bytes).collect();
        let len: usize = records.iter().filter_map(|(_, content)| content.map(<[u8]>::len)).sum();
        prop_assert!(len <= bytes.len());
        prop_assert!(count_unresolved(&bytes) <= records.len());
        let _ = MergeState::parse(&bytes);
    }

    /// The earlier content of each file is kept under a name of its own.
    #[test]
    fn contents_are_kept_apart(paths in proptest::collection::btree_set("[a-z/]{1,9}", 1..6)) {
        let (directory, repository) = repository();
        for path in &paths {
            MergeState::keep(&repository, path.as_bytes(), format!("of {path}").as_bytes()).unwrap();
        }
        let kept = std::fs::read_dir(directory.path().join(".hg/merge")).unwrap();
        let mut kept: Vec<String> =
            kept.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
        kept.sort_unstable();
        let mut expected: Vec<String> = paths.iter().map(|path| format!("of {path}")).collect();
        expected.sort_unstable();
        prop_assert_eq!(kept, expected);
    }
}

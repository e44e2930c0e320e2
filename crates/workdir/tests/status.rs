//! Status against a naive comparison of the committed, tracked and actual files.

use super::model::{Files, WorkingCopy, files, letters};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use varve_lang::patterns::Matcher;
use varve_repo::{FileKind, Node};
use varve_workdir::{LocalChanges, MergeTool, Status, Tree, status_between};

/// A change of the working copy.
#[derive(Clone, Debug)]
enum Edit {
    Write(String, Vec<u8>, FileKind),
    /// Takes the file from the disk only.
    Delete(String),
    /// Tracks a file.
    Add(String),
    /// Stops tracking a file and takes it from the disk.
    Remove(String),
    /// Stops tracking a file, which stays.
    Forget(String),
    /// Sets the time of a file back, without a change.
    Touch(String),
}

const PATHS: [&str; 7] = ["a", "b", "d/a", "d/b", "d/e/a", "f.o", "new"];

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let path = || prop::sample::select(&PATHS[..]).prop_map(str::to_owned);
    let content = prop::sample::select(&["", "one\n", "ONE\n", "other\n"][..]);
    let kind = prop::sample::select(&[FileKind::Plain, FileKind::Executable][..]);
    let edit = prop_oneof![
        (path(), content, kind).prop_map(|(path, content, kind)| Edit::Write(
            path,
            content.into(),
            kind
        )),
        path().prop_map(Edit::Delete),
        path().prop_map(Edit::Add),
        path().prop_map(Edit::Remove),
        path().prop_map(Edit::Forget),
        path().prop_map(Edit::Touch),
    ];
    proptest::collection::vec(edit, 0..8)
}

/// The model: committed files, files on the disk and tracked paths.
struct Model {
    committed: Files,
    disk: Files,
    tracked: BTreeSet<String>,
}

impl Model {
    fn apply(&mut self, edit: &Edit, copy: &WorkingCopy) {
        let mut dirstate = copy.dirstate();
        match edit {
            Edit::Write(path, content, kind) => {
                let file = (content.clone(), *kind);
                copy.write(path, &file);
                self.disk.insert(path.clone(), file);
            }
            Edit::Delete(path) | Edit::Remove(path) => {
                if self.disk.remove(path).is_some() {
                    copy.remove(path);
                }
                if let Edit::Remove(_) = edit {
                    dirstate.remove(path.as_bytes());
                    self.tracked.remove(path);
                }
            }
            Edit::Add(path) => {
                dirstate.add(path.as_bytes());
                self.tracked.insert(path.clone());
            }
            Edit::Forget(path) => {
                dirstate.remove(path.as_bytes());
                self.tracked.remove(path);
            }
            Edit::Touch(path) => {
                if let Some(file) = self.disk.get(path) {
                    copy.write(path, file);
                }
            }
        }
        dirstate.write(&copy.repository).unwrap();
    }

    fn letters(&self) -> BTreeMap<String, char> {
        let all = self
            .committed
            .keys()
            .chain(self.disk.keys())
            .chain(&self.tracked);
        let letter = |path: &String| {
            let (before, now) = (self.committed.get(path), self.disk.get(path));
            Some(match (self.tracked.contains(path), before, now) {
                (true, _, None) => '!',
                (true, None, Some(_)) => 'A',
                (true, Some(before), Some(now)) if before == now => 'C',
                (true, Some(_), Some(_)) => 'M',
                (false, Some(_), _) => 'R',
                (false, None, Some(_)) if path.ends_with(".o") => 'I',
                (false, None, Some(_)) => '?',
                (false, None, None) => return None,
            })
        };
        all.filter_map(|path| Some((path.clone(), letter(path)?)))
            .collect()
    }
}

/// The lists of changes between two sets of files.
fn between(old: &Files, new: &Files) -> BTreeMap<String, char> {
    let all: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let letter = |path: &String| match (old.get(path), new.get(path)) {
        (None, _) => 'A',
        (_, None) => 'R',
        (old, new) if old == new => 'C',
        _ => 'M',
    };
    all.into_iter()
        .map(|path| (path.clone(), letter(path)))
        .collect()
}

fn shown(status: &Status) -> BTreeMap<String, char> {
    let mut letters = letters(status);
    letters.remove(".hgignore");
    letters
}

proptest! {
    // Each makes a repository, which waits for the disk.
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn a_status_is_that_of_the_naive_comparison(committed in files(), edits in edits()) {
        let copy = WorkingCopy::new();
        let node = copy.commit(Node::NULL, &Files::new(), &committed);
        copy.update(node, LocalChanges::Refuse, MergeTool::Fail).unwrap();
        prop_assert_eq!(&copy.on_disk(), &committed);
        copy.write(".hgignore", &(b"\\.o$\n".to_vec(), FileKind::Plain));
        let tracked = committed.keys().cloned().collect();
        let disk = committed.clone();
        let mut model = Model { committed, disk, tracked };
        for edit in &edits {
            model.apply(edit, &copy);
            prop_assert_eq!(shown(&copy.status()), model.letters(), "{:?}", edit);
        }
        // Again, from the stats that the first status found: the answer stays.
        let dirstate = copy.dirstate();
        let found = copy.status_of(&dirstate);
        let mut taught = dirstate.clone();
        found.teach(&mut taught);
        taught.write(&copy.repository).unwrap();
        prop_assert_eq!(shown(&copy.status()), model.letters());
    }

    #[test]
    fn a_status_between_changesets_is_that_of_their_files(old in files(), new in files()) {
        let copy = WorkingCopy::new();
        let first = copy.commit(Node::NULL, &Files::new(), &old);
        let second = copy.commit(first, &old, &new);
        let view = copy.view();
        let rev = |node: &Node| view.changelog().rev(node);
        let everything = Matcher::everything();
        let status = |from, to| status_between(&view, from, to, &everything, true).unwrap();
        let (first, second) = (rev(&first), rev(&second));
        prop_assert_eq!(letters(&status(first, second)), between(&old, &new));
        prop_assert_eq!(letters(&status(second, first)), between(&new, &old));
        prop_assert_eq!(letters(&status(None, second)), between(&Files::new(), &new));
        prop_assert_eq!(letters(&status(second, None)), between(&new, &Files::new()));
        let tree = Tree::of(&view, second).unwrap();
        for (path, (content, kind)) in &new {
            let (node, found) = tree.get(path.as_bytes()).unwrap().unwrap();
            prop_assert_eq!(found, *kind);
            prop_assert_eq!(&tree.content(path.as_bytes(), &node).unwrap(), content);
        }
        prop_assert_eq!(tree.iter().count(), new.len());
    }
}

#[test]
fn a_file_of_the_same_size_and_time_is_read() {
    let copy = WorkingCopy::new();
    let file = |content: &str| (content.as_bytes().to_vec(), FileKind::Plain);
    let committed = Files::from([("a".to_owned(), file("one\n"))]);
    let node = copy.commit(Node::NULL, &Files::new(), &committed);
    copy.update(node, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
    let before = std::fs::metadata(copy.path("a")).unwrap();
    copy.write("a", &file("ONE\n"));
    let changed = std::fs::File::options()
        .write(true)
        .open(copy.path("a"))
        .unwrap();
    changed.set_modified(before.modified().unwrap()).unwrap();
    // The update wrote the file a moment ago, so that its time proves nothing.
    let mut dirstate = copy.dirstate();
    dirstate.set_possibly_dirty(b"a");
    let status = copy.status_of(&dirstate).status;
    assert_eq!(letters(&status), BTreeMap::from([("a".to_owned(), 'M')]));
}

//! Repositories that several tests begin with, which are made once: most of what tests wait for is Mercurial.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};
use tempfile::TempDir;
use varve_testkit::peers::{Hg, hg};

/// Fills the directory that it is given, and may put something beside it.
type Make = fn(&Hg, &Path);

/// By the address of the function. Functions with one address do the same.
#[derive(Default)]
struct Models(Mutex<HashMap<usize, Arc<OnceLock<Model>>>>);

enum Model {
    /// A directory with the filled directory and what is beside it.
    Kept(TempDir),
    /// The path stands in a file, so that a copy elsewhere would not be the same.
    KnowsItsPath,
}

/// Fills `path`, which has a directory of its own.
pub(super) fn copy_or_make(make: Make, hg: &Hg, path: &Path) {
    match of(make).get_or_init(|| new(make)) {
        Model::Kept(model) => copy(model.path(), path.parent().unwrap()),
        Model::KnowsItsPath => {
            std::fs::create_dir_all(path).unwrap();
            make(hg, path);
        }
    }
}

/// Copies a file or directory with its times.
pub(super) fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.unwrap().success());
}

fn of(make: Make) -> Arc<OnceLock<Model>> {
    static MODELS: OnceLock<Models> = OnceLock::new();
    let models = &MODELS.get_or_init(Models::default).0;
    models
        .lock()
        .unwrap()
        .entry(make as usize)
        .or_default()
        .clone()
}

fn new(make: Make) -> Model {
    let directory = tempfile::tempdir_in(varve_testkit::scratch()).unwrap();
    let path = directory.path().join("repository");
    std::fs::create_dir(&path).unwrap();
    make(&hg(), &path);
    match has_in_files(
        directory.path(),
        directory.path().as_os_str().as_encoded_bytes(),
    ) {
        true => Model::KnowsItsPath,
        false => Model::Kept(directory),
    }
}

/// Looks for bytes in the files and links below a directory.
fn has_in_files(directory: &Path, bytes: &[u8]) -> bool {
    let found = std::fs::read_dir(directory).unwrap();
    let mut paths = found.map(|entry| entry.unwrap().path());
    paths.any(|path: PathBuf| {
        let has = |text: &[u8]| text.windows(bytes.len()).any(|part| part == bytes);
        if let Ok(target) = path.read_link() {
            has(target.as_os_str().as_encoded_bytes())
        } else if path.is_dir() {
            has_in_files(&path, bytes)
        } else {
            has(&std::fs::read(&path).unwrap())
        }
    })
}

#[test]
fn only_repositories_that_do_not_know_their_path_are_copied() {
    let plain: Make = |hg, path| {
        hg.ok(path, &["init"]);
        std::fs::write(path.with_file_name("beside"), "").unwrap();
    };
    let knowing: Make = |_, path| std::fs::write(path.join("f"), path.to_str().unwrap()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    for (name, make, is_kept) in [("a", plain, true), ("b", knowing, false)] {
        let path = directory.path().join(name).join("repository");
        copy_or_make(make, &hg(), &path);
        assert_eq!(
            matches!(of(make).get(), Some(Model::Kept(_))),
            is_kept,
            "{name}"
        );
        assert_eq!(path.with_file_name("beside").exists(), is_kept);
        assert_eq!(path.join("f").exists(), !is_kept);
    }
}

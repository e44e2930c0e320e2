//! Repositories that many cases begin with: the real program makes each once, and every case gets a copy.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};
use tempfile::TempDir;

type Made = Arc<OnceLock<TempDir>>;

/// Fills the directory `path` with a copy of what `make` has made in another one for this `key`.
pub fn copy_of(key: &str, path: &Path, make: impl FnOnce(&Path)) {
    static ALL: OnceLock<Mutex<HashMap<String, Made>>> = OnceLock::new();
    let all = ALL.get_or_init(Mutex::default);
    let made = Arc::clone(all.lock().unwrap().entry(key.to_owned()).or_default());
    let made = made.get_or_init(|| {
        let directory = tempfile::tempdir_in(varve_testkit::scratch()).unwrap();
        make(directory.path());
        directory
    });
    // The times of the files count: they are in the dirstate.
    let all_of = made.path().join(".");
    let copied = Command::new("cp").arg("-a").arg(all_of).arg(path).status();
    assert!(copied.unwrap().success());
}

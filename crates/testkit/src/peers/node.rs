//! Scripts for Node that use npm clients.

use super::{Outcome, installed};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a JavaScript file in which PouchDB and nano can be required. It gets `settings` as
/// environment variables and must end with 0; returns what it printed.
#[track_caller]
pub fn run_script(script: &Path, settings: &[(&str, &str)]) -> String {
    let mut command = Command::new("node");
    command
        .arg(script)
        .env("NODE_PATH", node_modules())
        .env("NODE_NO_WARNINGS", "1")
        .envs(settings.iter().copied());
    Outcome::of(&mut command, Path::new("node")).success()
}

/// The browser that scripts drive; the first of its usual names on the path.
#[track_caller]
pub fn chromium() -> PathBuf {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = names
        .iter()
        .flat_map(|name| std::env::split_paths(&path).map(move |directory| directory.join(name)));
    let found = places.into_iter().find(|place| place.is_file());
    found.unwrap_or_else(|| panic!("none of {names:?} is on the PATH: install Chromium"))
}

/// Directory of the npm clients, for `NODE_PATH`.
pub fn node_modules() -> PathBuf {
    installed("node_modules")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_can_require_the_clients_and_read_settings() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("try.js");
        let text = "for (const m of ['pouchdb', 'pouchdb-adapter-memory', 'nano']) require(m);
            console.log(process.env.WORD);";
        std::fs::write(&script, text).unwrap();
        assert_eq!(run_script(&script, &[("WORD", "varve")]), "varve\n");
    }
}

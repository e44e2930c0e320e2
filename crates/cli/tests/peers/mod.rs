mod attachments;
mod clients;
mod clone_bundles;
mod clones_at_once;
mod clones_cut;
mod compression;
mod console;
mod corpus;
mod damage;
mod durability;
mod examples;
mod feeds;
mod full_disk;
mod hg_clone;
mod hg_edges;
mod history;
mod import;
mod in_place;
mod killed_compactions;
mod many_databases;
mod moving;
mod npm;
mod pages;
mod prefix;
mod push;
mod replication;
mod ssh;
mod start;
mod tls;

use std::path::{Path, PathBuf};
use tempfile::TempDir;
use varve_testkit::varve::Server;

/// A directory to serve.
struct Site {
    directory: TempDir,
}

impl Site {
    fn new() -> Site {
        let directory = tempfile::tempdir().unwrap();
        Site { directory }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Where the repository of that name belongs.
    fn repository(&self, name: &str) -> PathBuf {
        self.path().join("repos").join(name)
    }

    fn serve(&self) -> Server {
        Server::start(super::VARVE, self.path())
    }

    /// The file below the directory that holds a database, found by its name.
    fn database_file(&self, name: &str) -> PathBuf {
        let directory = self.path().join("databases");
        let listing = std::fs::read_dir(&directory).unwrap();
        let mut files = listing.map(|entry| entry.unwrap().path());
        let wanted = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem == name);
        let found = files.find(wanted);
        found.unwrap_or_else(|| panic!("no file of {name} in {directory:?}"))
    }
}

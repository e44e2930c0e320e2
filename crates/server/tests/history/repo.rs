//! Repositories that another program changes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use varve_base::{DiskStorage, Interrupt, Storage};
use varve_codec::EngineSetting;
use varve_repo::{FileChange, FileKind, LockKind, NewChangeset, Node, Phase, Repository};

/// A repository that another program changes.
pub struct Repo(pub Repository);

impl Repo {
    pub fn create(directory: &Path, name: &str, web: &str) -> Repo {
        let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new(directory));
        let root = Path::new("repos").join(name);
        storage.create_directory(&root).unwrap();
        let repo = Repo(Repository::create(storage, &root).unwrap());
        repo.configure(directory, &format!("[web]\n{web}\n"));
        repo
    }

    pub fn configure(&self, directory: &Path, text: &str) {
        let path = directory.join(self.0.root()).join(".hg/hgrc");
        std::fs::write(path, text).unwrap();
    }

    /// Makes the times of its directories old ones.
    pub fn age(&self, directory: &Path) {
        let hg = directory.join(self.0.root()).join(".hg");
        let old = std::time::SystemTime::now() - Duration::from_secs(3600);
        for path in [hg.join("hgrc"), hg.join("store"), hg] {
            std::fs::File::open(path)
                .unwrap()
                .set_modified(old)
                .unwrap();
        }
    }

    pub fn commit(&self, parents: [Node; 2], user: &str, (path, words): (&str, &str)) -> Node {
        let mut batch = self.0.begin(EngineSetting::ZSTD).unwrap();
        let changes = [FileChange::Write {
            path: path.as_bytes(),
            content: words.as_bytes(),
            kind: FileKind::Plain,
            copied_from: None,
        }];
        let new = NewChangeset {
            parents,
            user: user.as_bytes(),
            date: (86_400 * 31, 0),
            branch: b"default",
            extras: &[],
            description: words.as_bytes(),
            phase: Phase::Public,
            changes: &changes,
        };
        let node = batch.commit(&new).unwrap();
        batch.finish().unwrap();
        node
    }

    pub fn over(&self, parent: Node, words: &str) -> Node {
        self.commit([parent, Node::NULL], "Ada <ada@b>", (words, words))
    }

    pub fn strip(&self, node: Node) {
        let lock = self.0.try_lock(LockKind::Store).unwrap();
        let stop = Interrupt::default();
        self.0
            .strip(lock, &[node], EngineSetting::ZSTD, &stop)
            .unwrap();
    }
}

//! Removing a directory with many files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A file system that tells the disk about freed blocks waits for it at each file. Several threads
/// wait at the same time; more of them than this gain nothing.
const THREADS: usize = 8;
/// Files that a thread takes at once.
const SHARE: usize = 64;

/// Removes a directory with all that is in it. Symbolic links are removed, not followed.
pub(super) fn remove_tree(directory: &Path) -> io::Result<()> {
    let tree = Tree::below(directory)?;
    // An entry that cannot be removed is met again at the end, and reported there.
    each(&tree.files, |path| {
        let _ = fs::remove_file(path);
    });
    for level in tree.directories.iter().rev() {
        each(level, |path| {
            let _ = fs::remove_dir(path);
        });
    }
    fs::remove_dir_all(directory)
}

/// Does the same with all paths, several at a time.
fn each(paths: &[PathBuf], work: impl Fn(&Path) + Sync) {
    let shares: Vec<&[PathBuf]> = paths.chunks(SHARE).collect();
    let next = AtomicUsize::new(0);
    let thread = || {
        while let Some(share) = shares.get(next.fetch_add(1, Relaxed)) {
            share.iter().for_each(|path| work(path));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..THREADS.min(shares.len()) {
            scope.spawn(thread);
        }
        thread();
    });
}

/// Content of a directory.
struct Tree {
    /// Everything but directories.
    files: Vec<PathBuf>,
    /// Directories by how deep they lie.
    directories: Vec<Vec<PathBuf>>,
}

impl Tree {
    fn below(directory: &Path) -> io::Result<Tree> {
        let (mut files, mut directories) = (Vec::new(), Vec::new());
        let mut level = vec![directory.to_owned()];
        while !level.is_empty() {
            let mut deeper = Vec::new();
            for directory in &level {
                for entry in fs::read_dir(directory)? {
                    let entry = entry?;
                    let is_directory = entry.file_type()?.is_dir();
                    let found = if is_directory {
                        &mut deeper
                    } else {
                        &mut files
                    };
                    found.push(entry.path());
                }
            }
            directories.push(std::mem::replace(&mut level, deeper));
        }
        // The directory itself goes last.
        directories.remove(0);
        Ok(Tree { files, directories })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_go_and_what_links_lead_to_stays() {
        let work = tempfile::tempdir().unwrap();
        let (tree, kept) = (work.path().join("tree"), work.path().join("kept"));
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), b"x").unwrap();
        for number in 0..1000 {
            let directory = tree.join(format!("{}/{}", number % 7, number % 3));
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join(number.to_string()), b"x").unwrap();
        }
        std::os::unix::fs::symlink(&kept, tree.join("link")).unwrap();
        let found = Tree::below(&tree).unwrap();
        assert_eq!(found.files.len(), 1001);
        let levels: Vec<usize> = found.directories.iter().map(Vec::len).collect();
        assert_eq!(levels, [7, 21]);
        remove_tree(&tree).unwrap();
        assert!(!tree.exists());
        assert_eq!(fs::read(kept.join("file")).unwrap(), b"x");
        let error = remove_tree(&tree).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}

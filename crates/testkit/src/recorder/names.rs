//! Images of a disk that is behind with names: what a directory lists is durable only once it was synced.
//!
//! Model: creations, renames and removals since the last sync of their directory are undone, the last first, down to
//! any of them; bytes that were not synced are all there or all lost. Exchanges and links count as renames.

use super::{CrashImage, FileState, Op, Recorder};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use varve_base::MemoryStorage;

/// Number of a file, whatever its names.
type FileNumber = usize;
type Names = BTreeMap<PathBuf, FileNumber>;

/// Names as they were after a call, and the directories that it changed.
struct NameState {
    names: Names,
    changed: Vec<PathBuf>,
}

struct Disk {
    files: Vec<FileState>,
    /// The durable names, then those after each later call that changed some.
    states: Vec<NameState>,
}

impl Recorder {
    /// Calls `check` with every image; returns how many there were. Only for workloads that open a file again once it
    /// was renamed, and that remove no directories.
    pub fn for_each_image_of_names(&self, mut check: impl FnMut(CrashImage)) -> usize {
        let names = Names::new();
        let changed = Vec::new();
        let mut disk = Disk {
            files: Vec::new(),
            states: vec![NameState { names, changed }],
        };
        let (mut acknowledged, mut count) = (0, 0);
        for (step, op) in self.log().clone().iter().enumerate() {
            disk.apply(op);
            acknowledged += usize::from(matches!(op, Op::Acknowledge));
            for (undone, state) in disk.states.iter().rev().enumerate() {
                for is_kept in [true, false] {
                    count += 1;
                    check(CrashImage {
                        acknowledged,
                        cut: format!("step {step}, {undone} undone, pending kept: {is_kept}"),
                        storage: disk.image(&state.names, is_kept),
                    });
                }
            }
        }
        count
    }
}

impl Disk {
    fn image(&self, names: &Names, is_kept: bool) -> MemoryStorage {
        let content = |file: &FileState| {
            let kept = if is_kept { file.pending.len() } else { 0 };
            file.upto(kept)
        };
        let files = names.iter();
        let files = files.map(|(path, file)| (path.clone(), content(&self.files[*file])));
        MemoryStorage::with_files(files.collect::<BTreeMap<_, _>>())
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Create(path) => {
                self.files.push(FileState::default());
                let number = self.files.len() - 1;
                self.change(&[path], |names| {
                    names.insert(path.clone(), number);
                });
            }
            Op::Rename(from, to) => self.change(&[from, to], |names| {
                if let Some(number) = names.remove(from) {
                    names.insert(to.clone(), number);
                }
            }),
            Op::Link(from, to) => self.change(&[to], |names| {
                if let Some(number) = names.get(from).copied() {
                    names.insert(to.clone(), number);
                }
            }),
            Op::Exchange(one, other) => self.change(&[one, other], |names| {
                if let (Some(first), Some(second)) = (names.remove(one), names.remove(other)) {
                    names.insert(one.clone(), second);
                    names.insert(other.clone(), first);
                }
            }),
            Op::Remove(path) => self.change(&[path], |names| {
                names.remove(path);
            }),
            Op::SyncDirectory(directory) => {
                // A journal keeps the order: what came before a durable change is durable too.
                let is_of = |state: &NameState| state.changed.contains(directory);
                let newest = self.states.iter().rposition(is_of).unwrap_or(0);
                self.states.drain(..newest);
            }
            Op::Append(path, bytes) => self.with_file(path, |file| {
                file.pending.extend_from_slice(bytes);
            }),
            Op::Sync(path) => self.with_file(path, |file| {
                file.durable.append(&mut file.pending);
            }),
            Op::Truncate(path, len) => self.with_file(path, |file| {
                let mut all = file.upto(file.pending.len());
                all.truncate(usize::try_from(*len).unwrap_or(usize::MAX));
                let kept = file.durable.len().min(all.len());
                file.pending = all.split_off(kept);
                file.durable = all;
            }),
            Op::PunchHole(..) | Op::RemoveTree(_) | Op::SyncTree(_) | Op::Acknowledge => {}
        }
    }

    fn change(&mut self, paths: &[&PathBuf], change: impl FnOnce(&mut Names)) {
        let mut names = self.newest().clone();
        change(&mut names);
        let parent = |path: &&PathBuf| path.parent().unwrap_or(Path::new("")).to_owned();
        let changed = paths.iter().map(parent).collect();
        self.states.push(NameState { names, changed });
    }

    fn newest(&self) -> &Names {
        // There is always the durable state.
        &self.states[self.states.len() - 1].names
    }

    fn with_file(&mut self, path: &Path, change: impl FnOnce(&mut FileState)) {
        if let Some(number) = self.newest().get(path).copied() {
            change(&mut self.files[number]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use varve_base::{OpenMode, Storage};

    #[test]
    fn names_may_be_lost_until_their_directory_is_synced() {
        let disk = Recorder::default();
        for directory in ["d", "e"] {
            disk.create_directory(Path::new(directory)).unwrap();
        }
        let made = disk.open(Path::new("d/a.new"), OpenMode::CreateNew);
        let file = made.unwrap();
        file.append(b"x").unwrap();
        file.sync().unwrap();
        disk.rename(Path::new("d/a.new"), Path::new("d/a")).unwrap();
        disk.sync_directory(Path::new("e")).unwrap();
        disk.acknowledge();
        disk.sync_directory(Path::new("d")).unwrap();
        disk.acknowledge();
        let mut seen: [BTreeSet<Vec<PathBuf>>; 3] = Default::default();
        let images = disk.for_each_image_of_names(|image| {
            let names = image.storage.list(Path::new("d")).unwrap_or_default();
            let names = names.into_iter().map(|entry| entry.name.into());
            seen[image.acknowledged].insert(names.collect());
        });
        assert!(images > 20, "only {images} images");
        let (none, new, old) = (vec![], vec!["a.new".into()], vec!["a".into()]);
        let all = BTreeSet::from([none, new, old.clone()]);
        assert_eq!(seen, [all.clone(), all, BTreeSet::from([old])]);
    }
}

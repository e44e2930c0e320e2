//! Random histories: merges, moved lines, renames, and the same change made twice.

use super::super::Twin;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use varve_base::DiskStorage;
use varve_codec::EngineSetting;
use varve_repo::{CommitBatch, FileChange, FileKind, NewChangeset, Node, Phase, Repository};

type Lines = Vec<String>;

/// Numbers that only look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// A changeset as the test remembers it.
struct Made {
    node: Node,
    ancestors: BTreeSet<usize>,
    files: BTreeMap<String, Lines>,
}

#[derive(Default)]
struct History {
    made: Vec<Made>,
    /// Edits that may be made again elsewhere: before and after.
    edits: Vec<(Lines, Lines)>,
}

/// A file's new name and the old one.
type Copied = Option<(String, String)>;

fn edited(lines: &Lines, random: &mut Random) -> Lines {
    let mut lines = lines.clone();
    let at = random.below(lines.len() + 1);
    let end = (at + 1 + random.below(4)).min(lines.len());
    match random.below(7) {
        0..=2 => {
            for _ in 0..=random.below(3) {
                lines.insert(at, format!("n{}\n", random.below(30)));
            }
        }
        3 => {
            lines.drain(at..end);
        }
        4 => {
            let block: Lines = lines.drain(at..end).collect();
            let to = random.below(lines.len() + 1);
            lines.splice(to..to, block);
        }
        5 => lines.insert(at, ["\n", "}\n"][random.below(2)].to_owned()),
        _ => {
            if let Some(line) = lines.get_mut(at) {
                *line = format!(" {}  \n", line.trim_end());
            }
        }
    }
    lines
}

impl History {
    /// One or two parents, neither of which is an ancestor of the other.
    fn parents(&self, random: &mut Random) -> (usize, Option<usize>) {
        let recent = self.made.len().min(9);
        let mut pick = || self.made.len() - 1 - random.below(recent);
        let (first, second) = (pick(), pick());
        let related = first == second
            || self.made[first].ancestors.contains(&second)
            || self.made[second].ancestors.contains(&first);
        (first, (!related && random.below(3) > 0).then_some(second))
    }

    fn merged(&self, first: usize, second: usize, random: &mut Random) -> BTreeMap<String, Lines> {
        let mut files = self.made[first].files.clone();
        for (path, theirs) in &self.made[second].files {
            let ours = files.entry(path.clone()).or_insert_with(|| theirs.clone());
            match random.below(3) {
                0 => ours.clone_from(theirs),
                1 => {
                    let cut = random.below(ours.len().min(theirs.len()) + 1);
                    ours.truncate(cut);
                    ours.extend_from_slice(&theirs[cut..]);
                }
                _ => {}
            }
        }
        files
    }

    /// Changes some of the files; gives the copies.
    fn change(&mut self, files: &mut BTreeMap<String, Lines>, random: &mut Random) -> Copied {
        let paths: Vec<String> = files.keys().cloned().collect();
        let path = paths[random.below(paths.len())].clone();
        let mut copied = None;
        let name = format!("f{}", random.below(7));
        if random.one_in(6) && !files.contains_key(&name) {
            let content = files[&path].clone();
            files.insert(name.clone(), content);
            if random.one_in(2) && files.len() > 2 {
                files.remove(&path);
            }
            copied = Some((name.clone(), path.clone()));
        }
        for path in [path, name] {
            let Some(lines) = files.get_mut(&path) else {
                continue;
            };
            let again = self.edits.iter().find(|(before, _)| before == lines);
            let after = match again {
                Some((_, after)) if random.one_in(2) => after.clone(),
                _ => edited(lines, random),
            };
            self.edits.push((lines.clone(), after.clone()));
            *lines = after;
        }
        copied
    }

    fn step(&mut self, batch: &mut CommitBatch, random: &mut Random) {
        if self.made.is_empty() {
            let numbered =
                |name: &str| -> Lines { (0..12).map(|n| format!("{name}{}\n", n % 9)).collect() };
            let files = ["a", "b"].map(|name| (name.to_owned(), numbered(name)));
            return self.commit(batch, &[], BTreeMap::from(files), None);
        }
        let (first, second) = self.parents(random);
        let (mut files, parents) = match second {
            None => (self.made[first].files.clone(), vec![first]),
            Some(second) => (self.merged(first, second, random), vec![first, second]),
        };
        let copied = if second.is_none() || random.one_in(3) {
            self.change(&mut files, random)
        } else {
            None
        };
        // A source must be in the first parent.
        let there = |(_, source): &(String, String)| self.made[first].files.contains_key(source);
        let copied = copied.filter(there);
        self.commit(batch, &parents, files, copied);
    }

    fn commit(
        &mut self,
        batch: &mut CommitBatch,
        parents: &[usize],
        files: BTreeMap<String, Lines>,
        copied: Copied,
    ) {
        let none = BTreeMap::new();
        let before = parents.first().map_or(&none, |at| &self.made[*at].files);
        let texts: BTreeMap<&String, String> = files
            .iter()
            .map(|(path, lines)| (path, lines.concat()))
            .collect();
        let mut changes = Vec::new();
        for (path, text) in &texts {
            if before.get(*path) != Some(&files[*path]) {
                let source = copied.as_ref().filter(|(name, _)| name == *path);
                changes.push(FileChange::Write {
                    path: path.as_bytes(),
                    content: text.as_bytes(),
                    kind: FileKind::Plain,
                    copied_from: source.map(|(_, source)| source.as_bytes()),
                });
            }
        }
        let gone = before.keys().filter(|path| !files.contains_key(*path));
        changes.extend(gone.map(|path| FileChange::Remove {
            path: path.as_bytes(),
        }));
        let parent = |at: usize| parents.get(at).map_or(Node::NULL, |at| self.made[*at].node);
        let number = self.made.len();
        let node = batch.commit(&NewChangeset {
            parents: [parent(0), parent(1)],
            user: format!("u{}", number % 7).as_bytes(),
            date: (number as i64, 0),
            branch: b"default",
            extras: &[],
            description: number.to_string().as_bytes(),
            phase: Phase::Draft,
            changes: &changes,
        });
        let mut ancestors = BTreeSet::from([number]);
        for parent in parents {
            ancestors.extend(&self.made[*parent].ancestors);
        }
        self.made.push(Made {
            node: node.unwrap(),
            ancestors,
            files,
        });
    }
}

fn history(root: &Path, seed: u64, count: usize) {
    let storage = Arc::new(DiskStorage::new(Path::new("")));
    let repository = Repository::create(storage, root).unwrap();
    let mut batch = repository.begin(EngineSetting::ZSTD).unwrap();
    let (mut history, mut random) = (History::default(), Random(seed));
    for _ in 0..count {
        history.step(&mut batch, &mut random);
    }
    batch.finish().unwrap();
}

#[test]
fn random_histories_are_annotated_as_hg_does() {
    for seed in [0x9e37_79b9, 0x2545_f491] {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("repository");
        history(&root, seed, 150);
        let twin = Twin::of(&root);
        twin.same(&["verify", "-q"]);
        for rev in ["149", "148", "147", "120", "70"] {
            twin.same(&["annotate", "-r", rev, "-nfl", "glob:*"]);
        }
        for options in [
            &["-w"][..],
            &["--no-follow"],
            &["--skip", "9:60"],
            &["--skip", "70:140"],
        ] {
            let words = ["annotate", "-r", "tip", "-nfl", "glob:*"];
            twin.same(&[&words, options].concat());
        }
    }
}

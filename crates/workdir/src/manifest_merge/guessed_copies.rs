//! Renames by a guess, for merges over so much history that tracing every new file would take long.
//!
//! Their renames are traced, as their side is short. Ours are guessed: a file that they changed and that is gone here
//! has moved to a new file of the same name in another directory, or of another name in the same directory, if the two
//! have a common ancestor. Renamed directories and renames on both sides are not looked for.

use super::copy_tracing::{CopyTracing, NewFiles, Trees, directory_of, sources};
use super::file_ancestry::FileAncestry;
use crate::WorkdirError;
use crate::tree::differences;

/// The part of a path behind its last slash.
fn name_of(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    slash.map_or(path, |slash| &path[slash + 1..])
}

impl CopyTracing {
    /// At most `most` files are looked at for each that is gone here; with more of them it is passed over.
    pub(super) fn guess(
        trees: Trees<'_>,
        new: &NewFiles,
        most: usize,
    ) -> Result<CopyTracing, WorkdirError> {
        let mut ancestry = FileAncestry::with_uncommitted(trees.ours);
        let mut found = CopyTracing::default();
        let bases = (trees.base, trees.theirs_ancestor);
        for (path, source) in sources(&new.theirs, trees.theirs, bases, &mut ancestry)? {
            if trees.ours.get(&source)?.is_some() {
                found.theirs.copies.insert(path, source);
            }
        }
        for (path, before, after) in differences(trees.base, trees.theirs)? {
            let (Some(_), Some((theirs, _)), None) = (before, after, trees.ours.get(path)?) else {
                continue;
            };
            let candidates: Vec<&Vec<u8>> = (new.ours.iter())
                .filter(|other| {
                    name_of(other) == name_of(path) || directory_of(other) == directory_of(path)
                })
                .collect();
            if candidates.len() > most {
                found.passed_over.push((path.to_vec(), candidates.len()));
                continue;
            }
            for candidate in candidates {
                let Some((ours, _)) = trees.ours.get(candidate)? else {
                    continue;
                };
                let sides = [(candidate.clone(), ours), (path.to_vec(), theirs)];
                if ancestry.are_related(sides)? {
                    found.ours.copies.insert(candidate.clone(), path.to_vec());
                }
            }
        }
        Ok(found)
    }
}

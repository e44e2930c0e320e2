//! Detection of renames by content.

use varve_delta::{Grain, Hunks, diff};

/// A file with its content.
#[derive(Clone, Debug)]
pub struct RenameCandidate {
    /// Path from the root of the working copy.
    pub path: Vec<u8>,
    /// All bytes of the file.
    pub content: Vec<u8>,
}

/// A file that was probably renamed.
#[derive(Clone, Debug, PartialEq)]
pub struct Rename {
    /// The removed file.
    pub from: Vec<u8>,
    /// The added file.
    pub to: Vec<u8>,
    /// Similarity from 0 to 1; 1 for the same content.
    pub score: f64,
}

/// For each added file the most similar removed one, the first of several, if their score reaches `least`; those
/// with the same content come first. Empty files are never matched.
pub fn detect_renames(
    removed: &[RenameCandidate],
    added: &[RenameCandidate],
    least: f64,
) -> Vec<Rename> {
    let filled = |files: &'_ &RenameCandidate| !files.content.is_empty();
    let removed: Vec<&RenameCandidate> = removed.iter().filter(filled).collect();
    let added: Vec<&RenameCandidate> = added.iter().filter(filled).collect();
    let rename = |from: &RenameCandidate, to: &RenameCandidate, score| Rename {
        from: from.path.clone(),
        to: to.path.clone(),
        score,
    };
    let mut found = Vec::new();
    let mut others = Vec::new();
    for to in added {
        match removed.iter().find(|from| from.content == to.content) {
            Some(from) => found.push(rename(from, to, 1.0)),
            None => others.push((to, None)),
        }
    }
    if least >= 1.0 {
        return found;
    }
    // In the order in which the first removed file was like enough.
    let mut order = Vec::new();
    for from in &removed {
        for (at, (to, best)) in others.iter_mut().enumerate() {
            let score = score(&from.content, &to.content);
            let better = match best {
                None => score >= least,
                Some((_, most)) => score > *most,
            };
            if better {
                if best.is_none() {
                    order.push(at);
                }
                *best = Some((*from, score));
            }
        }
    }
    for (to, best) in order.into_iter().map(|at| &others[at]) {
        if let Some((from, score)) = best {
            found.push(rename(from, to, *score));
        }
    }
    found
}

/// The share of both texts that lines make up which they have in common, in order.
fn score(old: &[u8], new: &[u8]) -> f64 {
    let mut patch = Vec::new();
    diff(old, new, Grain::Lines, &mut patch);
    let mut equal = old.len();
    for hunk in Hunks::new(&patch).flatten() {
        equal -= hunk.end as usize - hunk.start as usize;
    }
    2.0 * equal as f64 / (old.len() + new.len()) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(path: &str, last: u32, more: &str) -> RenameCandidate {
        let lines: String = (1..=last).map(|number| format!("{number}\n")).collect();
        RenameCandidate {
            path: path.into(),
            content: (lines + more).into_bytes(),
        }
    }

    /// The percentages are those of `hg addremove -s` for the same files.
    #[test]
    fn scores_are_those_that_mercurial_shows() {
        let a = numbers("a", 30, "");
        let added = [
            numbers("b", 20, ""),
            numbers("c", 30, ""),
            numbers("d", 30, "x\n"),
        ];
        let found = detect_renames(std::slice::from_ref(&a), &added, 0.5);
        let shown = found.iter().map(|rename| {
            let path = String::from_utf8_lossy(&rename.to).into_owned();
            format!("{path} {:.0}", (rename.score * 100.0).floor())
        });
        assert_eq!(shown.collect::<Vec<_>>(), ["c 100", "b 77", "d 98"]);
        assert_eq!(
            detect_renames(std::slice::from_ref(&a), &added, 1.0).len(),
            1
        );
        assert_eq!(detect_renames(&[a], &added, 0.98).len(), 2);
        let empty = [numbers("e", 0, "")];
        assert!(detect_renames(&empty, &empty, 0.1).is_empty());
    }

    #[test]
    fn the_most_alike_is_taken() {
        let removed = [
            numbers("a", 10, ""),
            numbers("b", 20, ""),
            numbers("c", 5, ""),
        ];
        let found = detect_renames(&removed, &[numbers("d", 21, "")], 0.1);
        assert_eq!((found.len(), &found[0].from[..]), (1, &b"b"[..]));
    }
}

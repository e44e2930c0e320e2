//! Copies and renames that each side of a merge has made, and directories that it renamed.

use super::copy_report::{CopyReport, NamesBySource};
use super::file_ancestry::FileAncestry;
use crate::tree::differences;
use crate::{Tree, WorkdirError};
use std::collections::{BTreeMap, BTreeSet};

/// Destination and source.
type Copies = BTreeMap<Vec<u8>, Vec<u8>>;

/// The changes of names on one side, as far as they matter to the other.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SideCopies {
    /// Files of this side whose source the other side has changed, with that source.
    pub copies: Copies,
    /// Directories that this side renamed as a whole; both names end with a slash. In the order in which they apply.
    pub directories: Vec<(Vec<u8>, Vec<u8>)>,
    /// New files of this side below a directory that the other side renamed, with the path that they move to.
    pub moves: Copies,
}

/// Copies and renames of both sides.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CopyTracing {
    pub ours: SideCopies,
    pub theirs: SideCopies,
    /// Files that both sides renamed, each to other names.
    pub divergent: NamesBySource,
    /// Files that one side renamed and the other deleted.
    pub renamed_and_deleted: NamesBySource,
    /// Files for which too many others come into question, with the number of these.
    pub passed_over: Vec<(Vec<u8>, usize)>,
    /// All of it for users, if anything was copied.
    pub report: Option<CopyReport>,
}

/// The three trees of a merge.
#[derive(Clone, Copy)]
pub(super) struct Trees<'a> {
    pub base: &'a Tree<'a>,
    pub ours: &'a Tree<'a>,
    pub theirs: &'a Tree<'a>,
    /// The common ancestor of base and side, where the base is no ancestor of the side.
    pub ours_ancestor: Option<&'a Tree<'a>>,
    pub theirs_ancestor: Option<&'a Tree<'a>>,
}

/// New files of a side: they are in its tree, and not in the base.
pub(super) struct NewFiles {
    pub ours: BTreeSet<Vec<u8>>,
    pub theirs: BTreeSet<Vec<u8>>,
}

impl CopyTracing {
    pub(super) fn find(trees: Trees<'_>, new: &NewFiles) -> Result<CopyTracing, WorkdirError> {
        let mut ancestry = FileAncestry::with_uncommitted(trees.ours);
        let all_ours = sources(
            &new.ours,
            trees.ours,
            (trees.base, trees.ours_ancestor),
            &mut ancestry,
        )?;
        let all_theirs = sources(
            &new.theirs,
            trees.theirs,
            (trees.base, trees.theirs_ancestor),
            &mut ancestry,
        )?;
        let mut found = CopyTracing::default();
        if all_ours.is_empty() && all_theirs.is_empty() {
            return Ok(found);
        }
        let (ours, theirs) = (by_source(&all_ours), by_source(&all_theirs));
        let all_sources: BTreeSet<&Vec<u8>> = ours.keys().chain(theirs.keys()).copied().collect();
        for source in all_sources {
            match (ours.get(source), theirs.get(source)) {
                (Some(ours), Some(theirs)) => found.note_both(trees, source, ours, theirs)?,
                (Some(names), None) => found.note_one(trees, source, names, true, &mut ancestry)?,
                (None, Some(names)) => {
                    found.note_one(trees, source, names, false, &mut ancestry)?
                }
                (None, None) => {}
            }
        }
        found.note_directories(trees, new, (&all_ours, &all_theirs))?;
        found.report = Some(found.reported([&all_ours, &all_theirs], [&new.ours, &new.theirs]));
        Ok(found)
    }

    /// A file that both sides copied or renamed.
    fn note_both(
        &mut self,
        trees: Trees<'_>,
        source: &[u8],
        ours: &BTreeSet<&Vec<u8>>,
        theirs: &BTreeSet<&Vec<u8>>,
    ) -> Result<(), WorkdirError> {
        let is_here = trees.ours.get(source)?.is_some();
        let is_there = trees.theirs.get(source)?.is_some();
        if is_here != is_there {
            return Ok(());
        }
        let both = ours.intersection(theirs);
        for name in both {
            self.ours.copies.insert(name.to_vec(), source.to_vec());
            self.theirs.copies.insert(name.to_vec(), source.to_vec());
        }
        if !is_here && ours.is_disjoint(theirs) {
            let names = ours.union(theirs).map(|name| name.to_vec());
            self.divergent.insert(source.to_vec(), names.collect());
        }
        Ok(())
    }

    /// A file that only one side copied or renamed.
    fn note_one(
        &mut self,
        trees: Trees<'_>,
        source: &[u8],
        names: &BTreeSet<&Vec<u8>>,
        is_ours: bool,
        ancestry: &mut FileAncestry<'_>,
    ) -> Result<(), WorkdirError> {
        let (side, other, copies) = match is_ours {
            true => (trees.ours, trees.theirs, &mut self.ours.copies),
            false => (trees.theirs, trees.ours, &mut self.theirs.copies),
        };
        let Some(now) = other.get(source)? else {
            if side.get(source)?.is_none() {
                let names = names.iter().map(|name| name.to_vec());
                self.renamed_and_deleted
                    .insert(source.to_vec(), names.collect());
            }
            return Ok(());
        };
        let Some(before) = trees.base.get(source)? else {
            return Ok(());
        };
        if now == before {
            return Ok(());
        }
        let revisions = [now, before].map(|(node, _)| (source.to_vec(), node));
        if now.0 != before.0 && !ancestry.are_related(revisions)? {
            return Ok(());
        }
        for name in names {
            copies.insert(name.to_vec(), source.to_vec());
        }
        Ok(())
    }

    fn reported(&self, all: [&Copies; 2], new: [&BTreeSet<Vec<u8>>; 2]) -> CopyReport {
        let sides = [&self.ours, &self.theirs];
        let names = (&self.divergent, &self.renamed_and_deleted);
        let copies = |side: usize| {
            let is_merged = |path: &[u8]| sides[side].copies.contains_key(path);
            CopyReport::traced(all[side], is_merged, names)
        };
        CopyReport {
            unmatched: CopyReport::unmatched_of(new),
            copies: [copies(0), copies(1)],
            directories: sides.map(|side| {
                let mut renamed = side.directories.clone();
                renamed.sort_unstable();
                renamed
            }),
            moves: sides.map(|side| side.moves.clone().into_iter().collect()),
        }
    }

    fn note_directories(
        &mut self,
        trees: Trees<'_>,
        new: &NewFiles,
        (ours, theirs): (&Copies, &Copies),
    ) -> Result<(), WorkdirError> {
        self.ours.directories = renamed_directories(trees.ours, ours)?;
        self.theirs.directories = renamed_directories(trees.theirs, theirs)?;
        let only = |side: &BTreeSet<Vec<u8>>, other: &BTreeSet<Vec<u8>>| -> Vec<Vec<u8>> {
            side.difference(other).cloned().collect()
        };
        let unmatched = only(&new.theirs, &new.ours);
        self.theirs.moves = moves(&unmatched, &self.ours, ours);
        let unmatched = only(&new.ours, &new.theirs);
        self.ours.moves = moves(&unmatched, &self.theirs, theirs);
        Ok(())
    }
}

/// Where the new files of a side come from.
pub(super) fn sources(
    new: &BTreeSet<Vec<u8>>,
    side: &Tree<'_>,
    (base, ancestor): (&Tree<'_>, Option<&Tree<'_>>),
    ancestry: &mut FileAncestry<'_>,
) -> Result<Copies, WorkdirError> {
    if let Some(ancestor) = ancestor.filter(|_| !new.is_empty()) {
        return sources_across(new, side, base, ancestor, ancestry);
    }
    let mut found = Copies::new();
    for path in new {
        if let Some((node, _)) = side.get(path)?
            && let Some(source) = ancestry.origin(path, node, base)?
            && source != *path
        {
            found.insert(path.clone(), source);
        }
    }
    Ok(found)
}

/// The same over a base that is no ancestor of the side: a file that the base renamed counts as renamed back.
fn sources_across(
    new: &BTreeSet<Vec<u8>>,
    side: &Tree<'_>,
    base: &Tree<'_>,
    ancestor: &Tree<'_>,
    ancestry: &mut FileAncestry<'_>,
) -> Result<Copies, WorkdirError> {
    let mut renamed = Copies::new();
    for (path, _, in_base) in differences(ancestor, base)? {
        if let Some((node, _)) = in_base
            && ancestor.get(path)?.is_none()
            && let Some(source) = ancestry.origin(path, node, ancestor)?
            && base.get(&source)?.is_none()
        {
            renamed.entry(source).or_insert_with(|| path.to_vec());
        }
    }
    let mut found = Copies::new();
    for path in new {
        let Some((node, _)) = side.get(path)? else {
            continue;
        };
        let source = match ancestor.get(path)? {
            Some(_) => Some(path.clone()),
            None => ancestry.origin(path, node, ancestor)?,
        };
        let Some(source) = source else {
            continue;
        };
        if base.get(&source)?.is_some() {
            found.insert(path.clone(), source);
        } else if let Some(now) = renamed.get(&source) {
            found.insert(path.clone(), now.clone());
        }
    }
    Ok(found)
}

fn by_source(copies: &Copies) -> BTreeMap<&Vec<u8>, BTreeSet<&Vec<u8>>> {
    let mut found: BTreeMap<&Vec<u8>, BTreeSet<&Vec<u8>>> = BTreeMap::new();
    for (path, source) in copies {
        found.entry(source).or_default().insert(path);
    }
    found
}

/// The part of a path before its last slash, without it; empty at the top.
pub(super) fn directory_of(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    &path[..slash.unwrap_or(0)]
}

/// Old name and new name.
pub(crate) type DirectoryRename = (Vec<u8>, Vec<u8>);

/// Directories of the base that a side no longer has, and whose files that it renamed went all to one other directory.
pub(crate) fn renamed_directories(
    side: &Tree<'_>,
    copies: &Copies,
) -> Result<Vec<DirectoryRename>, WorkdirError> {
    if copies.is_empty() {
        return Ok(Vec::new());
    }
    let there = directories(side)?;
    let (mut renamed, mut kept) = (Vec::<(&[u8], &[u8])>::new(), BTreeSet::new());
    for (path, source) in copies {
        let (from, to) = (directory_of(source), directory_of(path));
        if kept.contains(from) {
            continue;
        }
        let known = renamed.iter().find(|(known, _)| *known == from);
        match known {
            _ if there.contains(from) => drop(kept.insert(from)),
            Some((_, other)) if *other != to => drop(kept.insert(from)),
            Some(_) => {}
            None => renamed.push((from, to)),
        }
    }
    let with_slash = |directory: &[u8]| match directory.is_empty() {
        // The root, where Mercurial takes "/NAME" for a path and falls over it.
        true => Vec::new(),
        false => [directory, b"/"].concat(),
    };
    renamed.retain(|(from, _)| !kept.contains(from));
    // A file moves with the innermost of the directories above it.
    renamed.sort_unstable_by(|(one, _), (other, _)| other.cmp(one));
    let renamed = renamed.into_iter();
    Ok(renamed
        .map(|(from, to)| (with_slash(from), with_slash(to)))
        .collect())
}

/// All directories with files in them or below, and the top.
fn directories(tree: &Tree<'_>) -> Result<BTreeSet<Vec<u8>>, WorkdirError> {
    let mut found = BTreeSet::from([Vec::new()]);
    for entry in tree.iter() {
        let mut directory = directory_of(entry?.path);
        while !directory.is_empty() && !found.contains(directory) {
            found.insert(directory.to_vec());
            directory = directory_of(directory);
        }
    }
    Ok(found)
}

/// New paths of files that one side added below directories that the other renamed.
fn moves(unmatched: &[Vec<u8>], other: &SideCopies, all_copies: &Copies) -> Copies {
    let mut found = Copies::new();
    for path in unmatched {
        if all_copies.contains_key(path) {
            continue;
        }
        let below = other
            .directories
            .iter()
            .find(|(from, _)| path.starts_with(from));
        if let Some((from, to)) = below {
            let moved = [&to[..], &path[from.len()..]].concat();
            // The other side has a copy there, which is merged by itself.
            if !other.copies.contains_key(&moved) {
                found.insert(path.clone(), moved);
            }
        }
    }
    found
}

//! Replacing the working copy's parent by a changeset with fewer files, or by an earlier one. The working copy keeps its
//! files, so that the difference shows as local changes.

use super::recommit::{NewFile, recommit};
use super::{AmendMarker, ChangesetMetadata};
use crate::tree::differences;
use crate::{Dirstate, Tracking, Tree, WorkdirError, path_copies};
use varve_base::Interrupt;
use varve_lang::patterns::Matcher;
use varve_repo::{
    CommitBatch, FileText, Lock, NewMarker, Node, Phase, RepoView, Repository, Rev, ViewFilter,
};

/// The repository and batch in which a parent is replaced.
#[derive(Debug)]
pub struct ReplaceContext<'a> {
    /// The repository; the caller holds the lock of its working copy.
    pub repository: &'a Repository,
    /// Nothing is in it yet; its name is the operation's.
    pub batch: CommitBatch,
    /// Ends the work between two files.
    pub stop: &'a Interrupt,
}

/// A changeset with files of an existing one.
#[derive(Clone, Debug)]
pub struct PartialChangeset {
    /// Has the contents. The new changeset has the same parents.
    pub source: Rev,
    /// Files that differ from the parents, or may.
    pub files: Vec<Vec<u8>>,
    /// The new metadata.
    pub metadata: ChangesetMetadata,
    /// The least phase; a higher one of the parents wins.
    pub phase: Phase,
}

/// A replacement of the working copy's parent.
#[derive(Clone, Copy, Debug)]
pub struct ParentReplacement<'a> {
    /// The repository as it is, hidden changesets included.
    pub view: &'a RepoView,
    /// The only parent of the working copy.
    pub old: Rev,
    /// The changeset in its place; `None` puts the working copy at its first parent.
    pub new: Option<&'a PartialChangeset>,
    /// Name of the command, for the marker.
    pub operation: &'a str,
    /// The obsolescence marker of the old changeset; `None` writes none.
    pub marker: Option<&'a AmendMarker<'a>>,
    /// Files whose entries in the dirstate are compared with the new parent.
    pub files: &'a Matcher,
}

/// Commits the replacement, moves bookmarks, and makes it the parent of the working copy, all in one transaction. Returns
/// the new parent, and the store's lock unless nothing had to be written.
///
/// # Errors
/// As of [`super::commit`].
pub fn replace_parent(
    place: ReplaceContext<'_>,
    dirstate: &mut Dirstate,
    what: &ParentReplacement<'_>,
) -> Result<(Node, Option<Lock>), WorkdirError> {
    let ReplaceContext {
        repository,
        mut batch,
        stop,
    } = place;
    let changelog = what.view.changelog();
    let old = changelog.node(what.old);
    let node = match what.new {
        Some(new) => commit_partial(&mut batch, what.view, new, stop)?,
        None => changelog.node_or_null(changelog.parents(what.old)[0]),
    };
    let mut bookmarks = batch.bookmarks().clone();
    let at_old = bookmarks.values_mut().filter(|at| **at == old);
    if at_old.map(|at| *at = node).count() > 0 {
        batch.transaction().set_bookmarks(&bookmarks)?;
    }
    if let Some(marker) = what.marker {
        add_marker(&mut batch, what, (&old, &node), marker)?;
    }
    let mut after = dirstate.clone();
    let manifest = batch.manifest_text(&node)?;
    let tree = Tree::of_text(what.view, node, manifest);
    move_entries(&mut after, what, &tree)?;
    after.set_parents([node, Node::NULL]);
    after.write_within(repository, batch.transaction())?;
    let (_, lock) = batch.finish_locked()?;
    *dirstate = after;
    // Copies are found between changesets that are there. A kill before loses no more than them.
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let rev = view.changelog().rev(&node);
    move_copies(dirstate, what, &view, rev)?;
    dirstate.write(repository)?;
    Ok((node, lock))
}

/// Puts the working copy from its only parent `old` at the first parent of that. Its files stay, so that what `old` changed
/// and copied shows as local changes. The caller writes the dirstate.
///
/// # Errors
/// Damage in the repository.
pub fn return_to_parent(
    view: &RepoView,
    dirstate: &mut Dirstate,
    old: Rev,
) -> Result<(), WorkdirError> {
    let what = ParentReplacement {
        view,
        old,
        new: None,
        operation: "",
        marker: None,
        files: &Matcher::everything(),
    };
    let parent = view.changelog().parents(old)[0];
    move_entries(dirstate, &what, &Tree::of(view, parent)?)?;
    move_copies(dirstate, &what, view, parent)?;
    let node = view.changelog().node_or_null(parent);
    dirstate.set_parents([node, Node::NULL]);
    Ok(())
}

fn commit_partial(
    batch: &mut CommitBatch,
    view: &RepoView,
    new: &PartialChangeset,
    stop: &Interrupt,
) -> Result<Node, WorkdirError> {
    let changelog = view.changelog();
    let parents = changelog.parents(new.source);
    let nodes = parents.map(|parent| changelog.node_or_null(parent));
    let tree = Tree::of(view, Some(new.source))?;
    let read = |path: &[u8]| {
        stop.check()?;
        let Some((node, kind)) = tree.get(path)? else {
            return Ok(None);
        };
        Ok(Some(NewFile {
            content: view.file_content(path, &node)?,
            kind,
            copied_from: recorded_source(view, path, &node)?,
        }))
    };
    let paths = new.files.iter().map(Vec::as_slice);
    recommit(batch, nodes, (&new.metadata, new.phase), paths, read)
}

/// The copy source that a revision of a file names.
pub(crate) fn recorded_source(
    view: &RepoView,
    path: &[u8],
    node: &Node,
) -> Result<Option<Vec<u8>>, WorkdirError> {
    let filelog = view.filelog(path)?;
    // A copied file has no first parent.
    let rev = filelog.rev(node);
    let Some(rev) = rev.filter(|rev| filelog.parents(*rev)[0].is_none()) else {
        return Ok(None);
    };
    let text = filelog.text(rev)?;
    let copied = FileText::parse(&text).copied_from;
    Ok(copied.map(|(source, _)| source.to_vec()))
}

fn add_marker(
    batch: &mut CommitBatch,
    what: &ParentReplacement<'_>,
    (old, node): (&Node, &Node),
    marker: &AmendMarker<'_>,
) -> Result<(), WorkdirError> {
    let changelog = what.view.changelog();
    let mut effects = 0;
    if let Some(new) = what.new {
        effects = new
            .metadata
            .effects(&ChangesetMetadata::read(what.view, what.old)?);
        if !batch.same_files(node, old)? {
            effects |= ChangesetMetadata::CONTENT;
        }
        if changelog.parents(new.source) != changelog.parents(what.old) {
            effects |= ChangesetMetadata::PARENTS;
        }
    }
    let effects = effects.to_string();
    let mut facts: Vec<(&[u8], &[u8])> = vec![(b"ef1", effects.as_bytes())];
    facts.extend(marker.note.map(|note| (&b"note"[..], note)));
    facts.push((b"operation", what.operation.as_bytes()));
    facts.push((b"user", marker.user));
    let [first, second] = changelog.parents(what.old);
    let mut parents = vec![changelog.node_or_null(first)];
    parents.extend(second.map(|second| changelog.node(second)));
    batch.transaction().add_markers(&[NewMarker {
        flags: 0,
        old: *old,
        successors: what.new.map_or(&[][..], |_| std::slice::from_ref(node)),
        parents: what.new.is_none().then_some(&parents[..]),
        date: marker.date,
        metadata: &facts,
    }])?;
    Ok(())
}

/// Compares the entries of files that differ between the old and the new parent with the new one.
fn move_entries(
    dirstate: &mut Dirstate,
    what: &ParentReplacement<'_>,
    new: &Tree<'_>,
) -> Result<(), WorkdirError> {
    let old = Tree::of(what.view, Some(what.old))?;
    compare_entries(dirstate, (&old, new), what.files)
}

/// Compares the entries of matching files that differ between the only old parent and the only new one with the latter,
/// where the working copy keeps its files.
pub(crate) fn compare_entries(
    dirstate: &mut Dirstate,
    (old, new): (&Tree<'_>, &Tree<'_>),
    files: &Matcher,
) -> Result<(), WorkdirError> {
    for (path, _, after) in differences(old, new)? {
        if !files.matches(path) {
            continue;
        }
        let (working, p1) = (dirstate.is_tracked(path), after.is_some());
        match working || p1 {
            false => dirstate.forget(path),
            true => dirstate.set_tracking(
                path,
                Tracking {
                    working,
                    p1,
                    p2_info: false,
                },
            ),
        }
    }
    Ok(())
}

/// Records the copies of the old parent that are local changes now, and follows those of the working copy through them.
fn move_copies(
    dirstate: &mut Dirstate,
    what: &ParentReplacement<'_>,
    view: &RepoView,
    new: Option<Rev>,
) -> Result<(), WorkdirError> {
    let old = view.changelog().rev(&what.view.changelog().node(what.old));
    let tree = Tree::of(view, new)?;
    let mut copies = path_copies(view, new, old)?;
    copies.retain(|path, _| what.files.matches(path));
    let own = dirstate.copies();
    let own = own.map(|(path, source)| (path.to_vec(), source.to_vec()));
    copies.extend(own.collect::<Vec<_>>());
    for (path, source) in &copies {
        let source = copies.get(source).unwrap_or(source);
        let is_added = dirstate.get(path).is_some_and(|entry| {
            let tracking = entry.tracking();
            tracking.working && !tracking.p1 && !tracking.p2_info
        });
        let is_kept = is_added && tree.get(source)?.is_some() && tree.get(path)?.is_none();
        dirstate.copy(path, is_kept.then_some(&source[..]));
    }
    Ok(())
}

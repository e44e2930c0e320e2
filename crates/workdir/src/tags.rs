//! Adding and removing tags: in `.hgtags`, which the next commit records, or in `.hg/localtags`.

use crate::dirstate::replace;
use crate::{
    Dirstate, LocalState, Status, TagRefusal, Tree, WorkdirError, WorkingFiles, local_state,
};
use std::collections::BTreeMap;
use varve_base::storage::read_if_there;
use varve_repo::{FileKind, Node, RepoView, Repository, TAGS_FILE, ViewFilter, with_tags};

/// Local tags, below the root.
const LOCAL_TAGS: &str = ".hg/localtags";

/// Kind of a change of tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TagOptions {
    /// The tags are local ones.
    pub local: bool,
    /// The tags are removed, not added.
    pub removes: bool,
    /// Existing tags move, and a parent that is no head does not matter.
    pub force: bool,
}

/// Tags that are added or removed together.
#[derive(Clone, Copy, Debug)]
pub struct TagChange<'a> {
    /// Names of the tags.
    pub names: &'a [Vec<u8>],
    /// Their changeset; the null node removes them.
    pub node: Node,
    /// All tags of the repository before the change.
    pub known: &'a BTreeMap<Vec<u8>, Node>,
}

/// Refuses to add existing tags and to remove missing ones. `known` are all tags that `view` shows.
///
/// # Errors
/// [`TagRefusal`] for the first tag that is refused; a failure of the storage.
pub fn check_tags(
    view: &RepoView,
    names: &[Vec<u8>],
    known: &BTreeMap<Vec<u8>, Node>,
    options: TagOptions,
) -> Result<(), WorkdirError> {
    let locals = view.local_tag_names()?;
    for name in names {
        let is_known = known.contains_key(name);
        let is_local = locals.contains(name);
        let refusal: fn(String) -> TagRefusal = match (options.removes, is_known) {
            (true, false) if !is_local && view.is_removed_tag(name)? => TagRefusal::AlreadyRemoved,
            (true, false) if !is_local => TagRefusal::Unknown,
            (true, _) if options.local && !is_local => TagRefusal::NotLocal,
            (true, _) if !options.local && is_local => TagRefusal::NotGlobal,
            (false, true) if !options.force => TagRefusal::Exists,
            _ => continue,
        };
        return Err(refusal(String::from_utf8_lossy(name).into_owned()).into());
    }
    Ok(())
}

/// Refuses to commit tags on a merge, and unless `force` is set on a changeset that is no head of its branch.
///
/// # Errors
/// [`TagRefusal::Merge`], [`TagRefusal::NotAHead`]; damage in the repository.
pub fn check_tag_parent(
    view: &RepoView,
    dirstate: &Dirstate,
    force: bool,
) -> Result<(), WorkdirError> {
    let [p1, p2] = dirstate.parents();
    if !p2.is_null() {
        return Err(TagRefusal::Merge.into());
    }
    let branches = view.branchmap()?;
    let parent = view.changelog().rev(&p1);
    let mut heads = branches.values().flat_map(|branch| &branch.heads);
    if !force && !branches.is_empty() && !heads.any(|head| Some(*head) == parent) {
        return Err(TagRefusal::NotAHead.into());
    }
    Ok(())
}

/// Writes `.hgtags` in the working copy and tracks it. Returns the status with which to commit that file alone.
///
/// # Errors
/// [`TagRefusal::ChangedFile`]; a failure to read or write.
pub fn write_tags(
    repository: &Repository,
    dirstate: &mut Dirstate,
    change: &TagChange<'_>,
) -> Result<Status, WorkdirError> {
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let parent = Tree::of(&view, view.changelog().rev(&dirstate.parents()[0]))?;
    let files = WorkingFiles::new(repository.root());
    let state = local_state(TAGS_FILE, dirstate, &parent, &files)?;
    let exists = files.look(TAGS_FILE)?.is_some();
    if state != LocalState::Clean && (exists || state != LocalState::Unknown) {
        return Err(TagRefusal::ChangedFile.into());
    }
    let old = match exists {
        true => files.read(TAGS_FILE)?.0,
        false => Vec::new(),
    };
    let text = with_tags(old, change.names, &change.node, change.known);
    files.write(TAGS_FILE, &text, FileKind::Plain)?;
    dirstate.add(TAGS_FILE);
    let mut status = Status::default();
    let list = match exists {
        true => &mut status.modified,
        false => &mut status.added,
    };
    list.push(TAGS_FILE.to_vec());
    Ok(status)
}

/// Writes `.hg/localtags`. The caller holds the lock of the working copy.
///
/// # Errors
/// A failure of the storage; the file is then as it was.
pub fn write_local_tags(
    repository: &Repository,
    change: &TagChange<'_>,
) -> Result<(), WorkdirError> {
    let storage = repository.storage().as_ref();
    let path = repository.root().join(LOCAL_TAGS);
    let old = read_if_there(storage, &path)?.unwrap_or_default();
    let text = with_tags(old, change.names, &change.node, change.known);
    replace(storage, &path, &text)
}

/// Writes `.hg/localtags` anew with these tags alone. The caller holds the lock of the working copy.
///
/// # Errors
/// A failure of the storage; the file is then as it was.
pub fn replace_local_tags(
    repository: &Repository,
    tags: &[(Node, Vec<u8>)],
) -> Result<(), WorkdirError> {
    let path = repository.root().join(LOCAL_TAGS);
    let line = |(node, name): &(Node, Vec<u8>)| [&node.to_hex()[..], b" ", name, b"\n"].concat();
    let text: Vec<u8> = tags.iter().flat_map(line).collect();
    replace(repository.storage().as_ref(), &path, &text)
}

/// Description of a commit of tags that was given none; the words are Mercurial's.
pub fn tag_description(names: &[Vec<u8>], node: &Node) -> Vec<u8> {
    let names = names.join(&b", "[..]);
    if node.is_null() {
        return [b"Removed tag ", &names[..]].concat();
    }
    let short = &node.to_hex()[..12];
    [b"Added tag ", &names[..], b" for changeset ", short].concat()
}

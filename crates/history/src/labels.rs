//! Documents of bookmarks, tags, branches and heads: they change as the names move.

use crate::HistoryError;
use crate::ids::{BOOKMARK, BRANCH, HEAD, TAG, id_of};
use crate::shown::ShownChangesets;
use crate::text::{node, text};
use std::collections::BTreeMap;
use varve_json::{Object, Value};
use varve_repo::{Node, RepoError, Rev};

/// The documents of all names of shown changesets, by id.
///
/// # Errors
/// A damaged repository.
pub(crate) fn label_documents(
    shown: &ShownChangesets<'_>,
) -> Result<BTreeMap<String, Object>, HistoryError> {
    let mut documents = BTreeMap::new();
    let view = shown.view;
    let mut add = |kind: &str, prefix: &str, (name, target): (&[u8], &Node)| {
        let rev = view.changelog().rev(target);
        if rev.is_some_and(|rev| shown.contains(rev)) {
            let mut document = labelled(kind, name);
            document.insert("node", node(target));
            documents.insert(id_of(prefix, name), document);
        }
    };
    for (name, target) in view.bookmarks() {
        add("bookmark", BOOKMARK, (name, target));
    }
    // Local tags are notes of the repository's owner, which clones do not get.
    let local = view.local_tag_names()?;
    for (name, target) in view
        .tags()?
        .iter()
        .filter(|(name, _)| !local.contains(name))
    {
        add("tag", TAG, (name, target));
    }
    add_branches(shown, &mut documents)?;
    add_heads(shown, &mut documents)?;
    Ok(documents)
}

fn labelled(kind: &str, name: &[u8]) -> Object {
    let mut document = Object::new();
    document.insert("type", kind);
    document.insert("name", text(name));
    document
}

fn add_branches(
    shown: &ShownChangesets<'_>,
    documents: &mut BTreeMap<String, Object>,
) -> Result<(), RepoError> {
    let changelog = shown.view.changelog();
    for (name, branch) in shown.branches()? {
        let mut document = labelled("branch", &name);
        let tip = branch.tip().map(|tip| node(&changelog.node(tip)));
        document.insert("node", tip.unwrap_or(Value::Null));
        let heads = branch.heads.iter().map(|head| node(&changelog.node(*head)));
        document.insert("heads", heads.collect::<Value>());
        let is_closed = branch.heads.iter().all(|head| branch.closed.contains(head));
        document.insert("closed", is_closed);
        documents.insert(id_of(BRANCH, &name), document);
    }
    Ok(())
}

fn add_heads(
    shown: &ShownChangesets<'_>,
    documents: &mut BTreeMap<String, Object>,
) -> Result<(), RepoError> {
    for head in shown.heads() {
        let head_node = shown.view.changelog().node(head);
        let (branch, is_closed) = shown.view.with_changeset(head, |changeset| {
            (text(&changeset.branch()), changeset.closes_branch())
        })?;
        let mut document = Object::new();
        document.insert("type", "head");
        document.insert("node", node(&head_node));
        document.insert("branch", branch);
        document.insert("closed", is_closed);
        documents.insert(format!("{HEAD}{head_node}"), document);
    }
    Ok(())
}

/// The changeset whose files are the current ones: the tip of the branch `default`, or else the newest head.
///
/// # Errors
/// A damaged changeset.
pub(crate) fn default_head(shown: &ShownChangesets<'_>) -> Result<Option<Rev>, RepoError> {
    let branches = shown.branches()?;
    let default = branches.get(varve_repo::DEFAULT_BRANCH);
    let tip = default.and_then(varve_repo::BranchHeads::tip);
    Ok(tip.or_else(|| shown.heads().last().copied()))
}

//! Changing a tree: one pass over all sorted changes, every touched node written once.
//!
//! A node without changes below it is kept by reference. Fresh nodes stay in memory until their
//! parent is made, so that one that became small can still join a sibling.

use super::Transaction;
use crate::TreeError;
use crate::commit::Root;
use crate::node::{MAX_NODE, MIN_NODE, Node};
use crate::pages::NodeSource;
use std::sync::Arc;

/// A key with its new value, or without one to remove it.
pub(crate) type BatchEntry<'a> = (&'a [u8], Option<&'a [u8]>);

/// The nodes that replace a node.
struct Replacement {
    /// At the level of the old node; empty if all its items are gone.
    nodes: Vec<Node>,
    /// Whether new keys came behind all old ones only.
    in_order: bool,
    /// Whether the nodes together are shorter than the old one.
    shrunk: bool,
}

/// A child of an inner node that is being remade.
enum ChildEdit {
    /// The old child with this index.
    Kept(usize),
    /// A new node, and whether it is the rest of a removal.
    Fresh(Node, bool),
}

/// Applies `changes` and returns the tree's new root.
pub(crate) fn apply(
    writer: &mut Transaction<'_>,
    tree: usize,
    root: &Root,
    changes: &[BatchEntry<'_>],
) -> Result<Root, TreeError> {
    let old = match root.node {
        Some(at) => writer.node(at, root.level, root.count)?,
        None => Arc::new(Node::new(0)),
    };
    match edit(writer, tree, &old, changes)? {
        None => Ok(root.clone()),
        Some(edited) => grow(writer, tree, edited),
    }
}

/// Builds levels above `edited` until one node is left, and drops roots with a single child.
fn grow(writer: &mut Transaction<'_>, tree: usize, edited: Replacement) -> Result<Root, TreeError> {
    let Replacement {
        mut nodes,
        in_order,
        ..
    } = edited;
    while nodes.len() > 1 {
        let mut parent = Node::new(nodes[0].level() + 1);
        for node in nodes {
            writer.write_node(tree, node, &mut parent)?;
        }
        nodes = parent.split(in_order);
    }
    let Some(mut top) = nodes.pop() else {
        return Ok(Root::default());
    };
    while top.level() > 0 && top.len() == 1 {
        let child = writer.child_node(&top, top.child(0))?;
        if child.level() == 0 || child.len() > 1 {
            return Ok(root_of(&top, child.level()));
        }
        top = Node::clone(&child);
    }
    writer.write_root(tree, top)
}

/// The only child of `parent` as a root.
pub(crate) fn root_of(parent: &Node, level: u8) -> Root {
    let child = parent.child(0);
    Root {
        node: Some(child.at),
        level,
        count: child.count,
        stored: child.stored,
        reduction: parent.value(0).to_vec(),
    }
}

/// Room for the key and the reduction of a child that was not there before.
const NEW_CHILD: usize = 64;

/// The replacement of `node`; `None` if the changes change nothing.
fn edit(
    writer: &mut Transaction<'_>,
    tree: usize,
    node: &Arc<Node>,
    changes: &[BatchEntry<'_>],
) -> Result<Option<Replacement>, TreeError> {
    match node.level() {
        0 => Ok(edit_leaf(node, changes)),
        _ => edit_inner(writer, tree, node, changes),
    }
}

fn edit_leaf(old: &Node, changes: &[BatchEntry<'_>]) -> Option<Replacement> {
    let bytes = |&(key, value): &BatchEntry<'_>| key.len() + value.map_or(0, <[u8]>::len);
    let mut new = Node::in_place_of(old, changes.len(), changes.iter().map(bytes).sum());
    let mut from = 0;
    let mut changed = false;
    let mut in_order = true;
    for &(key, value) in changes {
        let place = old.search_from(from, key);
        let upto = place.unwrap_or_else(|index| index);
        (from..upto).for_each(|index| new.push_from(old, index));
        from = upto + usize::from(place.is_ok());
        if let Some(value) = value {
            new.push(key, value);
            in_order &= place.is_ok() || upto == old.len();
        }
        changed |= match place {
            Ok(index) => value != Some(old.value(index)),
            Err(_) => value.is_some(),
        };
    }
    (from..old.len()).for_each(|index| new.push_from(old, index));
    changed.then(|| Replacement {
        shrunk: new.cost() < old.cost(),
        nodes: new.split(in_order),
        in_order,
    })
}

fn edit_inner(
    writer: &mut Transaction<'_>,
    tree: usize,
    old: &Arc<Node>,
    changes: &[BatchEntry<'_>],
) -> Result<Option<Replacement>, TreeError> {
    let mut pieces = Vec::with_capacity(old.len() + 8);
    let (mut rest, mut changed, mut in_order) = (changes, false, true);
    for index in 0..old.len() {
        let is_last = index + 1 == old.len();
        let here = match is_last {
            true => rest.len(),
            false => rest.partition_point(|change| change.0 < old.key(index + 1)),
        };
        let (mine, behind) = rest.split_at(here);
        rest = behind;
        let edited = match mine {
            [] => None,
            _ => {
                let child = writer.child_node(old, old.child(index))?;
                edit(writer, tree, &child, mine)?
            }
        };
        let Some(edited) = edited else {
            pieces.push(ChildEdit::Kept(index));
            continue;
        };
        changed = true;
        in_order &= edited.nodes.len() <= 1 || (is_last && edited.in_order);
        let shrunk = edited.shrunk;
        pieces.extend(
            edited
                .nodes
                .into_iter()
                .map(|node| ChildEdit::Fresh(node, shrunk)),
        );
    }
    if !changed {
        return Ok(None);
    }
    let pieces = join_small(writer, old, pieces)?;
    let more = pieces.len().saturating_sub(old.len());
    let mut new = Node::in_place_of(old, more, more * NEW_CHILD);
    for piece in pieces {
        match piece {
            ChildEdit::Kept(index) => new.push_from(old, index),
            ChildEdit::Fresh(node, _) => writer.write_node(tree, node, &mut new)?,
        }
    }
    Ok(Some(Replacement {
        shrunk: new.cost() < old.cost(),
        nodes: new.split(in_order),
        in_order,
    }))
}

/// Puts nodes that removals left small together with the sibling before or behind them, where
/// both fit into one.
fn join_small(
    writer: &Transaction<'_>,
    old: &Arc<Node>,
    pieces: Vec<ChildEdit>,
) -> Result<Vec<ChildEdit>, TreeError> {
    let is_small =
        |piece: &ChildEdit| matches!(piece, ChildEdit::Fresh(node, true) if node.cost() < MIN_NODE);
    if !pieces.iter().any(is_small) {
        return Ok(pieces);
    }
    let mut joined: Vec<ChildEdit> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match joined.last_mut() {
            Some(last) if is_small(last) || is_small(&piece) => {
                match join(writer, old, last, &piece)? {
                    Some(both) => *last = ChildEdit::Fresh(both, true),
                    None => joined.push(piece),
                }
            }
            _ => joined.push(piece),
        }
    }
    Ok(joined)
}

fn join(
    writer: &Transaction<'_>,
    old: &Arc<Node>,
    first: &ChildEdit,
    second: &ChildEdit,
) -> Result<Option<Node>, TreeError> {
    let load = |piece: &ChildEdit| match piece {
        ChildEdit::Kept(index) => writer.child_node(old, old.child(*index)),
        ChildEdit::Fresh(node, _) => Ok(Arc::new(node.clone())),
    };
    let (first, second) = (load(first)?, load(second)?);
    if first.cost() + second.cost() > MAX_NODE {
        return Ok(None);
    }
    let mut both = Node::clone(&first);
    both.extend(&second);
    Ok(Some(both))
}

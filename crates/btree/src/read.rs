//! Lookups that need no iterator: by key, by rank, and reductions of a run of items.

use crate::TreeError;
use crate::commit::Root;
use crate::entry::{Bounds, TreeEntry};
use crate::node::Node;
use crate::pages::NodeSource;
use crate::reducer::Reducer;
use std::ops::{Bound, Range};
use std::sync::Arc;

/// The item with this key.
pub(crate) fn get(
    source: &impl NodeSource,
    root: &Root,
    key: &[u8],
) -> Result<Option<TreeEntry>, TreeError> {
    let Some(mut node) = source.root_node(root)? else {
        return Ok(None);
    };
    while node.level() > 0 {
        let child = node.child(node.child_for(key));
        node = source.child_node(&node, child)?;
    }
    Ok(node
        .search(key)
        .ok()
        .map(|index| TreeEntry::new(node, index)))
}

/// The items with these keys, which ascend; each node is visited once.
pub(crate) fn get_many<K: AsRef<[u8]>>(
    source: &impl NodeSource,
    root: &Root,
    keys: &[K],
) -> Result<Vec<Option<TreeEntry>>, TreeError> {
    let mut found = Vec::with_capacity(keys.len());
    match source.root_node(root)? {
        Some(node) => collect(source, &node, keys, &mut found)?,
        None => found.resize_with(keys.len(), || None),
    }
    Ok(found)
}

/// Below a node of level n this calls itself n deep, and levels are bounded.
fn collect<K: AsRef<[u8]>>(
    source: &impl NodeSource,
    node: &Arc<Node>,
    keys: &[K],
    found: &mut Vec<Option<TreeEntry>>,
) -> Result<(), TreeError> {
    if node.level() == 0 {
        found.extend(keys.iter().map(|key| {
            let index = node.search(key.as_ref()).ok()?;
            Some(TreeEntry::new(node.clone(), index))
        }));
        return Ok(());
    }
    let mut rest = keys;
    while let Some(key) = rest.first() {
        let index = node.child_for(key.as_ref());
        let (here, behind) = rest.split_at(below_child(node, index, rest));
        let child = source.child_node(node, node.child(index))?;
        collect(source, &child, here, found)?;
        rest = behind;
    }
    Ok(())
}

/// How many of the first `keys` belong below child `index`: all up to the next child's key, and at
/// least the first, for which the child was chosen.
fn below_child<K: AsRef<[u8]>>(node: &Node, index: usize, keys: &[K]) -> usize {
    if index + 1 == node.len() {
        return keys.len();
    }
    let next = node.key(index + 1);
    keys.partition_point(|key| key.as_ref() < next).max(1)
}

/// How many items stand before `key`, with `key` itself if `inclusive`.
pub(crate) fn rank(
    source: &impl NodeSource,
    root: &Root,
    key: &[u8],
    inclusive: bool,
) -> Result<u64, TreeError> {
    let Some(mut node) = source.root_node(root)? else {
        return Ok(0);
    };
    let mut rank = 0u64;
    while node.level() > 0 {
        let index = node.child_for(key);
        rank += node.before(index);
        node = source.child_node(&node, node.child(index))?;
    }
    Ok(rank
        + match node.search(key) {
            Ok(index) => index as u64 + u64::from(inclusive),
            Err(index) => index as u64,
        })
}

/// The numbers of the items within bounds; empty, not reversed, if the bounds cross.
pub(crate) fn ranks(
    source: &impl NodeSource,
    root: &Root,
    (start, end): Bounds<'_>,
) -> Result<Range<u64>, TreeError> {
    let low = match start {
        Bound::Unbounded => 0,
        Bound::Included(key) => rank(source, root, key, false)?,
        Bound::Excluded(key) => rank(source, root, key, true)?,
    };
    let high = match end {
        Bound::Unbounded => root.count,
        Bound::Included(key) => rank(source, root, key, true)?,
        Bound::Excluded(key) => rank(source, root, key, false)?,
    };
    Ok(low..high.max(low))
}

/// The summary of the items with these numbers.
pub(crate) fn reduce(
    source: &impl NodeSource,
    root: &Root,
    reducer: &dyn Reducer,
    ranks: Range<u64>,
) -> Result<Vec<u8>, TreeError> {
    if ranks == (0..root.count) && root.count > 0 {
        return Ok(root.reduction.clone());
    }
    let mut parts = Vec::new();
    if let Some(node) = source.root_node(root)?.filter(|_| !ranks.is_empty()) {
        gather(source, &node, reducer, ranks, &mut parts)?;
    }
    if parts.len() == 1 {
        return Ok(parts.swap_remove(0));
    }
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    Ok(reducer.combine(&parts))
}

/// Adds the summaries that cover `ranks`, counted from the first item below `node`.
fn gather(
    source: &impl NodeSource,
    node: &Arc<Node>,
    reducer: &dyn Reducer,
    ranks: Range<u64>,
    parts: &mut Vec<Vec<u8>>,
) -> Result<(), TreeError> {
    if node.level() == 0 {
        let inside = ranks.start as usize..(ranks.end as usize).min(node.len());
        let mut items = inside.map(|index| (node.key(index), node.value(index)));
        parts.push(reducer.leaf(&mut items));
        return Ok(());
    }
    let mut whole: Vec<&[u8]> = Vec::new();
    for index in node.child_at(ranks.start)..node.len() {
        let (first, end) = (node.before(index), node.before(index + 1));
        if first >= ranks.end {
            break;
        }
        if ranks.start <= first && end <= ranks.end {
            whole.push(node.value(index));
            continue;
        }
        if !whole.is_empty() {
            parts.push(reducer.combine(&whole));
            whole.clear();
        }
        let inside = ranks.start.max(first) - first..ranks.end.min(end) - first;
        let child = source.child_node(node, node.child(index))?;
        gather(source, &child, reducer, inside, parts)?;
    }
    if !whole.is_empty() {
        parts.push(reducer.combine(&whole));
    }
    Ok(())
}

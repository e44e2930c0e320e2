//! Committing what a drawing names.

use super::drawing::{Drawing, Remark};
use super::{FileEdits, changes};
use crate::WorkdirError;
use std::collections::BTreeMap;
use varve_repo::{CommitBatch, DEFAULT_BRANCH, NewChangeset, Node, Phase};

/// Commits the changesets of a drawing that `known` does not have already, as `user`; returns them in their order, by
/// name. Each has one file of its own name, merges have those of both sides.
///
/// # Errors
/// [`WorkdirError::DrawnCircle`]; a failure to write.
pub fn commit_drawing(
    batch: &mut CommitBatch,
    drawing: &Drawing,
    known: &BTreeMap<Vec<u8>, Node>,
    user: &[u8],
) -> Result<Vec<(Vec<u8>, Node)>, WorkdirError> {
    let order = drawing.order().ok_or(WorkdirError::DrawnCircle)?;
    let mut nodes = known.clone();
    let mut made = Vec::new();
    for name in order {
        if known.contains_key(&name) {
            continue;
        }
        let parents = drawing.parents[&name].iter();
        let mut parents: Vec<Node> = parents
            .filter_map(|name| nodes.get(name).copied())
            .collect();
        parents.sort_unstable();
        let parents = match parents[..] {
            [] => [Node::NULL; 2],
            [one] => [one, Node::NULL],
            [one, two] => [one, two],
            _ => {
                let name = String::from_utf8_lossy(&name).into_owned();
                return Err(WorkdirError::DrawnParents(name));
            }
        };
        let edits = edits(batch, drawing, &name, parents)?;
        let node = batch.commit(&NewChangeset {
            parents,
            user,
            date: (0, 0),
            branch: DEFAULT_BRANCH,
            extras: &[],
            description: &name,
            phase: Phase::Draft,
            changes: &changes(&edits),
        })?;
        nodes.insert(name.clone(), node);
        made.push((name, node));
    }
    Ok(made)
}

fn edits(
    batch: &CommitBatch,
    drawing: &Drawing,
    name: &[u8],
    [first, second]: [Node; 2],
) -> Result<FileEdits, WorkdirError> {
    let mut edits = FileEdits::new();
    if second.is_null() {
        edits.insert(name.to_vec(), Some(name.to_vec()));
    } else {
        let own = batch.manifest_files(&first)?;
        for (path, node) in batch.manifest_files(&second)? {
            if !own.contains_key(&path) {
                let content = batch.file_content(&path, &node)?;
                edits.insert(path, Some(content));
            }
        }
    }
    for remark in &drawing.remarks {
        if let Remark::File {
            name: of,
            path,
            content,
        } = remark
            && of == name
        {
            edits.insert(path.clone(), content.clone());
        }
    }
    let before = match first.is_null() {
        true => BTreeMap::new(),
        false => batch.manifest_files(&first)?,
    };
    // What is not there cannot be removed.
    edits.retain(|path, content| content.is_some() || before.contains_key(path));
    Ok(edits)
}

//! Writing the demo's history into a repository.

use super::DemoError;
use super::notes::{self, Commit, Files};
use crate::context::Context;
use std::path::Path;
use std::sync::Arc;
use varve_base::storage::replace;
use varve_base::{Storage, Unit};
use varve_codec::EngineSetting;
use varve_repo::{FileChange, FileKind, NewChangeset, Node, Phase, Repository};
use varve_server::directory::REPOSITORIES;

/// Makes the repository below the directory of repositories.
pub(super) fn make(storage: &Arc<dyn Storage>, context: &mut Context<'_>) -> Result<(), DemoError> {
    let root = Path::new(REPOSITORIES).join(notes::NAME);
    let repository = Repository::create(Arc::clone(storage), &root)?;
    let (commits, bookmarks) = notes::history();
    let step = "writing the demo's repository";
    let total = commits.len() as u64;
    context.progress.begin(step, Unit::Items, Some(total));
    let mut batch = repository.begin(EngineSetting::ZSTD)?;
    let mut nodes: Vec<Node> = Vec::with_capacity(commits.len());
    for commit in &commits {
        context.stop.check()?;
        let parent = |number: usize| {
            let at = commit.parents.get(number);
            at.map_or(Node::NULL, |&at| nodes[at])
        };
        let first = commit.parents.first().map(|&at| &commits[at].files);
        let node = batch.commit(&NewChangeset {
            parents: [parent(0), parent(1)],
            user: commit.user.as_bytes(),
            date: (i64::try_from(commit.date).unwrap_or(0), 0),
            branch: commit.branch.as_bytes(),
            extras: &[],
            description: commit.message.as_bytes(),
            phase: Phase::Public,
            changes: &changes(first, commit),
        })?;
        nodes.push(node);
        context.progress.advance(1);
    }
    batch.finish()?;
    context.progress.end();
    // One line per bookmark: the node in hexadecimal, a blank, the name.
    let lines = bookmarks
        .iter()
        .map(|(name, at)| format!("{} {name}\n", nodes[*at]));
    let text: String = lines.collect();
    replace(
        storage.as_ref(),
        &root.join(".hg/bookmarks"),
        text.as_bytes(),
    )?;
    Ok(())
}

/// Changes of a commit to the files of its first parent.
fn changes<'a>(before: Option<&Files>, commit: &'a Commit) -> Vec<FileChange<'a>> {
    let changed = commit
        .files
        .iter()
        .filter(|(path, text)| before.and_then(|files| files.get(*path)) != Some(*text));
    let written = changed.map(|(path, text)| FileChange::Write {
        path: path.as_bytes(),
        content: text.as_bytes(),
        kind: FileKind::Plain,
        copied_from: None,
    });
    written.collect()
}

//! What is known before a commit, and what that says about it afterwards.

use crate::arguments::Matches;
use crate::context::Context;
use crate::ui::Abort;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use varve_lang::patterns::Matcher;
use varve_repo::{Node, RepoView, Repository, Rev};
use varve_workdir::{Dirstate, Status};

/// The repository as it was.
pub(super) struct Before {
    view: Arc<RepoView>,
    parents: Vec<Rev>,
    /// The branch of the new changeset.
    pub(super) branch: Vec<u8>,
    /// The active bookmark.
    pub(super) bookmark: Option<Vec<u8>>,
}

impl Before {
    pub(super) fn look(
        context: &mut Context,
        repository: &Repository,
        dirstate: &Dirstate,
    ) -> Result<Before, Abort> {
        // Another process may have committed while this one waited for the lock.
        context.repo.refresh();
        context.repo.warn_of_disabled_markers(&mut context.ui)?;
        let view = context.repo.view()?;
        let nodes = dirstate.parents();
        let nodes = nodes.iter().filter(|node| !node.is_null());
        let mut parents = Vec::new();
        for node in nodes {
            let rev = view.changelog().rev(node);
            let hex = || node.to_string()[..12].to_owned();
            parents
                .push(rev.ok_or_else(|| Abort::new(format!("unknown working parent {}!", hex())))?);
        }
        let active = varve_workdir::active_bookmark(repository)?;
        Ok(Before {
            branch: varve_workdir::branch(repository)?,
            bookmark: active.filter(|name| view.bookmarks().contains_key(name)),
            view,
            parents,
        })
    }

    pub(super) fn view(&self) -> &Arc<RepoView> {
        &self.view
    }

    pub(super) fn parents(&self) -> &[Rev] {
        &self.parents
    }

    pub(super) fn is_merge(&self) -> bool {
        self.parents.len() > 1
    }

    fn branch_of(&self, rev: Rev) -> Option<Vec<u8>> {
        let read = |changeset: varve_repo::Changeset<'_>| changeset.branch().into_owned();
        self.view.with_changeset(rev, read).ok()
    }

    fn closes(&self, rev: Rev) -> bool {
        let closes = self
            .view
            .with_changeset(rev, |changeset| changeset.closes_branch());
        closes.unwrap_or(false)
    }

    pub(super) fn changes_branch(&self) -> bool {
        let old = self.parents.first().and_then(|rev| self.branch_of(*rev));
        old.unwrap_or_else(|| varve_repo::DEFAULT_BRANCH.to_vec()) != self.branch
    }

    /// Refuses to close what is no open head.
    pub(super) fn check_close(&self, matches: &Matches) -> Result<(), Abort> {
        let parent = self.parents.first().copied();
        if parent.is_some_and(|rev| self.closes(rev)) {
            return Err(Abort::new(
                "current revision is already a branch closing head",
            ));
        }
        let heads = self.open_heads()?;
        let branch = String::from_utf8_lossy(&self.branch).into_owned();
        if heads.is_empty() {
            return Err(Abort::new(format!(
                "branch \"{branch}\" has no heads to close"
            )));
        }
        let forced = matches.flag("force-close-branch");
        if matches.flag("amend") {
            // The changeset that is amended goes; those before it count.
            let parents = parent.map(|rev| self.view.changelog().parents(rev));
            let mut parents = parents.into_iter().flatten().flatten();
            let on_branch = |rev| self.branch_of(rev).as_deref() == Some(&self.branch[..]);
            return match parents.any(on_branch) {
                true => Ok(()),
                false => Err(Abort::new("can only close branch heads")),
            };
        }
        if !forced && parent.is_some_and(|rev| !heads.contains(&rev)) {
            return Err(Abort::new("can only close branch heads")
                .hint("use --force-close-branch to close branch from a non-head changeset"));
        }
        Ok(())
    }

    fn open_heads(&self) -> Result<Vec<Rev>, Abort> {
        let branches = self.view.branchmap()?;
        let Some(found) = branches.get(&self.branch) else {
            return Ok(Vec::new());
        };
        let open = found
            .heads
            .iter()
            .filter(|head| !found.closed.contains(head));
        Ok(open.copied().collect())
    }

    /// Whether a changeset has no children; then it is a head of its branch, and there is no need
    /// to read all changesets for that.
    fn is_childless(&self, rev: Rev) -> bool {
        let changelog = self.view.changelog();
        let mut later = changelog.revs().skip(rev.index() + 1);
        !later.any(|child| changelog.parents(child).contains(&Some(rev)))
    }

    /// Says what the new changeset did to the heads of its branch.
    pub(super) fn report(
        &self,
        context: &mut Context,
        node: &Node,
        close: bool,
    ) -> Result<(), Abort> {
        let of_branch = |rev: &&Rev| self.branch_of(**rev).as_deref() == Some(&self.branch[..]);
        let parents: Vec<Rev> = self.parents.iter().filter(of_branch).copied().collect();
        let follows = |rev: &Rev| self.is_childless(*rev) && !self.closes(*rev);
        if !parents.iter().any(follows) {
            let heads = self.open_heads()?;
            if !heads.is_empty() && !parents.iter().any(|rev| heads.contains(rev)) {
                context.ui.status("created new head\n")?;
            }
        }
        if !close {
            for rev in parents.iter().filter(|rev| self.closes(**rev)) {
                context
                    .ui
                    .status(format!("reopening closed branch head {}\n", rev.0))?;
            }
        }
        tell_committed(context, node)
    }
}

/// Prints the new changeset with `--verbose`.
pub(super) fn tell_committed(context: &mut Context, node: &Node) -> Result<(), Abort> {
    if !context.ui.verbosity.verbose {
        return Ok(());
    }
    let view = context.repo.view()?;
    let rev = view.changelog().rev(node);
    let rev = rev.map_or(-1, |rev| i64::from(rev.0));
    let node = node.to_string();
    let shown = if context.ui.verbosity.debug {
        &node
    } else {
        &node[..12]
    };
    context
        .ui
        .note(format!("committed changeset {rev}:{shown}\n"))
}

/// `--addremove`: tracks what is new and stops tracking what is missing.
pub(super) fn add_and_remove(
    context: &mut Context,
    dirstate: &mut Dirstate,
    status: &mut Status,
    matcher: &Matcher,
) -> Result<(), Abort> {
    let (new, gone) = (
        std::mem::take(&mut status.unknown),
        std::mem::take(&mut status.deleted),
    );
    let mut told: Vec<(&[u8], &str)> = new.iter().map(|path| (&path[..], "adding")).collect();
    told.extend(gone.iter().map(|path| (&path[..], "removing")));
    told.sort_unstable();
    for (path, verb) in told {
        if context.ui.verbosity.verbose || !matcher.is_exact(path) {
            let shown = context.repo.display_path(path)?;
            context
                .ui
                .status([verb.as_bytes(), b" ", &shown, b"\n"].concat())?;
        }
    }
    for path in &new {
        dirstate.add(path);
    }
    for path in &gone {
        let was_added = status.added.iter().position(|added| added == path);
        dirstate.remove(path);
        match was_added {
            Some(at) => drop(status.added.remove(at)),
            None => status.removed.push(path.clone()),
        }
    }
    status.added.extend(new);
    status.added.sort_unstable();
    status.removed.sort_unstable();
    Ok(())
}

/// Refuses what arguments name that is not tracked, or not there.
pub(super) fn check_named(
    context: &Context,
    repository: &Repository,
    dirstate: &Dirstate,
    matcher: &Matcher,
    status: &Status,
) -> Result<(), Abort> {
    if matcher.is_wild() {
        return Ok(());
    }
    for path in matcher.named() {
        let shown = String::from_utf8_lossy(&context.repo.display_path(path)?).into_owned();
        let fail = |words: &str| Err(Abort::new(format!("{shown}: {words}")));
        if path.is_empty() || status.removed.iter().any(|gone| gone == path) {
            continue;
        }
        if status.deleted.iter().any(|gone| gone == path) {
            return fail("file not found!");
        }
        if dirstate.is_tracked(path) {
            continue;
        }
        let found = repository
            .root()
            .join(OsStr::from_bytes(path))
            .symlink_metadata();
        let lists = [&status.modified, &status.added, &status.removed];
        let below = [&path[..], b"/"].concat();
        let any_below = lists
            .iter()
            .any(|list| list.iter().any(|file| file.starts_with(&below)));
        match found {
            _ if any_below => {}
            Ok(found) if found.is_dir() => return fail("no match under directory!"),
            Ok(_) => return fail("file not tracked!"),
            Err(error) => return fail(&crate::ui::system_words(&error)),
        }
    }
    Ok(())
}

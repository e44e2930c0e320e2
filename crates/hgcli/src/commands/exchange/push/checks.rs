//! Reasons to refuse a push, unless it is forced.

use super::PushSession;
use super::bookmarks::BookmarkPlan;
use crate::context::Context;
use crate::ui::{Abort, Ui, short_hex};
use std::collections::BTreeSet;
use varve_exchange::apply::{BookmarkRelation, compare_bookmarks};
use varve_exchange::client::peer::Remote;
use varve_exchange::client::push::{BranchHeads, branch_heads};
use varve_repo::{DEFAULT_BRANCH, Node, Phase, Rev};

/// Unknown heads that are listed one by one.
const LISTED: usize = 4;

const ABOUT_HEADS: &str = "merge or see 'hg help push' for details about pushing new heads";

/// Warns, asks or refuses if changesets would become public, where `experimental.auto-publish` wants
/// that.
pub(super) fn refuse_to_publish(
    context: &mut Context,
    remote: &mut Remote,
    heads: Option<&[Rev]>,
    may: bool,
) -> Result<(), Abort> {
    let setting = context.config.text("experimental", "auto-publish");
    let setting = setting.unwrap_or_default();
    if may || !["warn", "confirm", "abort"].contains(&&*setting) {
        return Ok(());
    }
    let keys = remote.list_keys("phases")?;
    if keys
        .get(&b"publishing"[..])
        .is_none_or(|value| value != b"True")
    {
        return Ok(());
    }
    let view = context.repo.view()?;
    let all = heads.map_or_else(|| view.heads(), <[Rev]>::to_vec);
    let pushed = view.missing_ancestors(&all, &[]).into_iter();
    let count = pushed
        .filter(|rev| view.phases().of(*rev) == Phase::Draft)
        .count();
    match &*setting {
        _ if count == 0 => Ok(()),
        "warn" => context
            .ui
            .warn(format!("{count} changesets about to be published\n")),
        "abort" => Err(Abort::new(format!("push would publish {count} changesets"))
            .hint("use --publish or adjust 'experimental.auto-publish' config")),
        _ => match context
            .ui
            .confirm(&format!("push and publish {count} changesets"))?
        {
            true => Ok(()),
            false => Err(Abort::new("user quit")),
        },
    }
}

impl PushSession<'_> {
    /// Refuses heads that are obsolete, orphaned or divergent; of several it names the newest.
    pub(super) fn refuse_unstable(&self) -> Result<(), Abort> {
        let unstable = self.all.instabilities()?;
        let missing = &self.outgoing.missing;
        let parents = |rev: &Rev| self.view.changelog().parents(*rev).into_iter().flatten();
        let followed: BTreeSet<Rev> = missing.iter().flat_map(parents).collect();
        for rev in missing.iter().rev().filter(|rev| !followed.contains(rev)) {
            let name = match unstable.obsolete.contains(rev) {
                true => Some("obsolete"),
                false => unstable.names(*rev).next(),
            };
            if let Some(name) = name {
                let node = short_hex(&self.view.changelog().node(*rev));
                return Err(Abort::new(format!(
                    "push includes {name} changeset: {node}!"
                )));
            }
        }
        Ok(())
    }

    /// Refuses new branches and new heads; gives the heads there that change.
    pub(super) fn check_heads(
        &self,
        ui: &mut Ui,
        remote: &mut Remote,
        moved: &BookmarkPlan,
    ) -> Result<Vec<Node>, Abort> {
        if self.outgoing.found.remote_heads.iter().all(Node::is_null) {
            return Ok(Vec::new());
        }
        let there = remote.branchmap()?;
        let branches = branch_heads(&self.all, &self.outgoing.missing, &there)?;
        self.refuse_new_branches(&branches)?;
        let accepted = self.bookmarked(moved);
        let mut refusal = None;
        for branch in &branches {
            tell_unknown(ui, branch)?;
            let refused = self.refuse_new_heads(ui, branch, &accepted)?;
            refusal = refusal.or(refused);
        }
        match refusal {
            Some(refusal) => Err(refusal),
            None => Ok(branches.iter().flat_map(BranchHeads::changed).collect()),
        }
    }

    fn refuse_new_branches(&self, branches: &[BranchHeads]) -> Result<(), Abort> {
        let new = branches.iter().filter(|branch| branch.before.is_none());
        let names: Vec<&[u8]> = new.map(|branch| &branch.name[..]).collect();
        if names.is_empty() || self.asked.new_branch {
            return Ok(());
        }
        let own = self.view.branchmap()?;
        let is_closed = |name: &&&[u8]| {
            own.get(**name)
                .is_some_and(|branch| branch.heads.iter().all(|head| branch.closed.contains(head)))
        };
        let closed = match names.iter().filter(is_closed).count() {
            0 => String::new(),
            closed => format!(" ({closed} closed)"),
        };
        let names = names.join(&b", "[..]);
        let names = String::from_utf8_lossy(&names);
        let words = format!("push creates new remote branches: {names}{closed}");
        Err(Abort::new(words).hint("use 'hg push --new-branch' to create new remote branches"))
    }

    /// Changesets that may become heads because a bookmark is on them.
    fn bookmarked(&self, moved: &BookmarkPlan) -> BTreeSet<Node> {
        let compared = compare_bookmarks(&*self.all, &moved.there).into_iter();
        let may = compared.filter(|bookmark| {
            let is_ahead = matches!(
                bookmark.relation,
                BookmarkRelation::Ahead | BookmarkRelation::Same
            );
            is_ahead || self.asked.bookmarks.contains(&bookmark.name)
        });
        may.filter_map(|bookmark| bookmark.here).collect()
    }

    fn refuse_new_heads(
        &self,
        ui: &mut Ui,
        branch: &BranchHeads,
        accepted: &BTreeSet<Node>,
    ) -> Result<Option<Abort>, Abort> {
        let name = String::from_utf8_lossy(&branch.name);
        let mut new: Vec<&Node> = match &branch.before {
            None if branch.after.len() > 1 => branch.after.iter().collect(),
            Some(before) if branch.after.len() > before.len() => branch
                .added()
                .filter(|node| !accepted.contains(node))
                .collect(),
            _ => Vec::new(),
        };
        if branch.before.is_some() {
            new.sort_unstable();
        }
        let Some(first) = new.first() else {
            return Ok(None);
        };
        let words = match branch.before {
            None => format!("push creates new branch '{name}' with multiple heads"),
            Some(_) => {
                let of = self.described(first, &branch.name);
                format!("push creates new remote head {}{of}", short_hex(first))
            }
        };
        ui.note(format!("new remote heads on branch '{name}':\n"))?;
        for node in &new {
            ui.note(format!(" {}\n", short_hex(node)))?;
        }
        let hint = match branch.unknown.is_empty() {
            true => ABOUT_HEADS.to_owned(),
            false => format!("pull and {ABOUT_HEADS}"),
        };
        Ok(Some(Abort::new(words).hint(hint)))
    }

    fn described(&self, node: &Node, branch: &[u8]) -> String {
        if branch != DEFAULT_BRANCH {
            return format!(" on branch '{}'", String::from_utf8_lossy(branch));
        }
        let mut bookmarks = self.view.bookmarks().iter();
        match bookmarks.find(|(_, place)| *place == node) {
            Some((name, _)) => format!(" with bookmark '{}'", String::from_utf8_lossy(name)),
            None => String::new(),
        }
    }
}

fn tell_unknown(ui: &mut Ui, branch: &BranchHeads) -> Result<(), Abort> {
    if branch.unknown.is_empty() {
        return Ok(());
    }
    let listed = match ui.verbosity.verbose {
        true => branch.unknown.len(),
        false => LISTED,
    };
    let heads: Vec<String> = branch.unknown.iter().take(listed).map(short_hex).collect();
    let others = match branch.unknown.len().saturating_sub(listed) {
        0 => String::new(),
        others => format!(" and {others} others"),
    };
    let name = String::from_utf8_lossy(&branch.name);
    let heads = heads.join(" ");
    ui.status(format!(
        "remote has heads on branch '{name}' that are not known locally: {heads}{others}\n"
    ))
}

//! Refusals of a push that is not forced, with their messages.

use super::PushSession;
use crate::context::{Config, Repo};
use crate::ui::{Abort, FailureKind, Ui, short_hex};
use std::collections::BTreeSet;
use varve_exchange::client::peer::Remote;
use varve_exchange::client::push::{
    BranchHeads, PushChecks, branch_heads, count_drafts, is_publishing,
};
use varve_exchange::{NewHeads, PushRefusal};
use varve_repo::{Node, Rev};

/// Unknown heads that are listed one by one.
const LISTED: usize = 4;

/// Warns, asks or refuses if changesets would become public, as `experimental.auto-publish` says.
pub(super) fn check_publishing(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    remote: &mut Remote,
    heads: Option<&[Rev]>,
) -> Result<(), Abort> {
    let setting = config.text("experimental", "auto-publish");
    let setting = setting.unwrap_or_default();
    if !["warn", "confirm", "abort"].contains(&&*setting)
        || !is_publishing(&remote.list_keys("phases")?)
    {
        return Ok(());
    }
    let view = repo.view()?;
    let heads = heads.map_or_else(|| view.heads(), <[Rev]>::to_vec);
    let count = count_drafts(&view, &heads);
    match &*setting {
        _ if count == 0 => Ok(()),
        "warn" => ui.warn(format!("{count} changesets about to be published\n")),
        "abort" => Err(Abort::new(format!("push would publish {count} changesets"))
            .hint("use --publish or adjust 'experimental.auto-publish' config")),
        _ => match ui.confirm(&format!("push and publish {count} changesets"))? {
            true => Ok(()),
            false => Err(Abort::of_kind(FailureKind::Canceled, "user quit")),
        },
    }
}

impl PushSession<'_> {
    /// The changesets to be sent, with the history that they are checked against.
    pub(super) fn checks(&self) -> PushChecks<'_> {
        PushChecks {
            view: &self.view,
            all: &self.all,
            missing: &self.outgoing.missing,
        }
    }

    /// Refuses new branches and new heads, but for those in `accepted`. Returns the heads of the other side that
    /// change.
    pub(super) fn check_heads(
        &self,
        ui: &mut Ui,
        remote: &mut Remote,
        accepted: &BTreeSet<Node>,
    ) -> Result<Vec<Node>, Abort> {
        if self.outgoing.found.remote_heads.iter().all(Node::is_null) {
            return Ok(Vec::new());
        }
        let checks = self.checks();
        let branches = branch_heads(&self.all, checks.missing, &remote.branchmap()?)?;
        if ui.verbosity.debug {
            // Mercurial asks for bookmarks once more, which nothing but its messages shows.
            remote.list_keys("bookmarks")?;
        }
        if !self.options.new_branch {
            checks.refuse_new_branches(&branches)?;
        }
        let mut refused = None;
        for branch in &branches {
            print_unknown_heads(ui, branch)?;
            if let Some(new) = checks.new_heads(branch, accepted) {
                note_new_heads(ui, &new)?;
                refused.get_or_insert(new);
            }
        }
        match refused {
            Some(new) => Err(PushRefusal::NewHeads(new).into()),
            None => Ok(branches.iter().flat_map(BranchHeads::changed).collect()),
        }
    }
}

fn note_new_heads(ui: &mut Ui, new: &NewHeads) -> Result<(), Abort> {
    let branch = String::from_utf8_lossy(&new.branch);
    ui.note(format!("new remote heads on branch '{branch}':\n"))?;
    let mut heads = new.heads.iter();
    heads.try_for_each(|node| ui.note(format!(" {}\n", short_hex(node))))
}

fn print_unknown_heads(ui: &mut Ui, branch: &BranchHeads) -> Result<(), Abort> {
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

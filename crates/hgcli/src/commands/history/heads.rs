//! `heads`: changesets that nothing builds on.

use crate::arguments::{Flag, Matches, STYLE, TEMPLATE};
use crate::context::{Category, Command, Context, Repo};
use crate::render::changesets;
use crate::ui::{Abort, Ui};
use std::collections::BTreeSet;
use varve_repo::{RepoView, Rev};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["heads"],
    options: &[
        Flag::value(
            'r',
            "rev",
            "STARTREV",
            "only heads that build on this changeset",
        ),
        Flag::flag(
            't',
            "topo",
            "changesets without children, whatever their branch",
        ),
        Flag::flag(
            'a',
            "active",
            "only heads without children on other branches (DEPRECATED)",
        ),
        Flag::flag('c', "closed", "closed heads of branches too"),
        STYLE,
        TEMPLATE,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[-ct] [-r STARTREV] [REV]...",
    summary: "show the heads of branches",
    help: "A head of a branch is a changeset that nothing on the same branch builds on. With REV, \
           only heads of the branches of these changesets are shown.\n\nEnds with 0 if there is \
           a head, else with 1.",
    category: Some(Category::Navigation),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    repo.warn_of_disabled_markers(ui)?;
    let view = repo.view()?;
    let typed = matches.value("rev").filter(|rev| !rev.is_empty());
    let start = match typed {
        Some(rev) => repo.revision(ui, Some(rev))?,
        None => None,
    };
    let mut heads = if matches.flag("topo") {
        view.heads()
    } else {
        branch_heads(&view, matches.flag("closed"))?
    };
    if matches.flag("active") {
        let childless = view.heads();
        heads.retain(|head| childless.contains(head));
    }
    if let Some(start) = start {
        keep_descendants(&view, start, &mut heads);
    }
    if !matches.arguments().is_empty() {
        keep_branches(repo, ui, matches, typed, &mut heads)?;
    }
    if heads.is_empty() {
        return Ok(1);
    }
    heads.sort_unstable();
    let newest_first: Vec<Option<Rev>> = heads.into_iter().rev().map(Some).collect();
    changesets::show(repo, ui, config, matches, &newest_first)?;
    Ok(0)
}

fn branch_heads(view: &RepoView, closed: bool) -> Result<Vec<Rev>, Abort> {
    let mut heads = Vec::new();
    for branch in view.branchmap()?.values() {
        let open = |head: &&Rev| closed || !branch.closed.contains(head);
        heads.extend(branch.heads.iter().filter(open));
    }
    Ok(heads)
}

/// Drops heads that do not build on `start`.
fn keep_descendants(view: &RepoView, start: Rev, heads: &mut Vec<Rev>) {
    let changelog = view.changelog();
    let mut builds = vec![false; changelog.len() - start.index()];
    builds[0] = true;
    for index in start.index() + 1..changelog.len() {
        let parents = changelog.parents(Rev(index as u32)).into_iter().flatten();
        let mut parents = parents.filter(|parent| *parent >= start);
        builds[index - start.index()] =
            parents.any(|parent| builds[parent.index() - start.index()]);
    }
    heads.retain(|head| *head >= start && builds[head.index() - start.index()]);
}

/// Drops heads that are of no branch of the arguments, and warns of branches without a head.
fn keep_branches(
    repo: &mut Repo,
    ui: &mut Ui,
    matches: &Matches,
    start: Option<&[u8]>,
    heads: &mut Vec<Rev>,
) -> Result<(), Abort> {
    let view = repo.view()?;
    let branch_of = |rev: Option<Rev>| -> Result<Vec<u8>, Abort> {
        Ok(match rev {
            Some(rev) => view.with_changeset(rev, |changeset| changeset.branch().into_owned())?,
            None => varve_repo::DEFAULT_BRANCH.to_vec(),
        })
    };
    let mut wanted = BTreeSet::new();
    for spec in matches.arguments() {
        let rev = repo.revision(ui, Some(spec))?;
        wanted.insert(branch_of(rev)?);
    }
    let mut headless = wanted.clone();
    let mut kept = Vec::new();
    for head in heads.drain(..) {
        let branch = branch_of(Some(head))?;
        if wanted.contains(&branch) {
            headless.remove(&branch);
            kept.push(head);
        }
    }
    *heads = kept;
    if !headless.is_empty() {
        let names: Vec<Vec<u8>> = headless.into_iter().collect();
        let mut line = b"no open branch heads found on branches ".to_vec();
        line.extend_from_slice(&names.join(&b", "[..]));
        if let Some(start) = start {
            line.extend_from_slice(&[b" (started at ", start, b")"].concat());
        }
        line.push(b'\n');
        ui.warn(line)?;
    }
    Ok(())
}

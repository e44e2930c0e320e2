//! `summary`: where the working copy stands.

mod remote;

use crate::arguments::{Flag, Matches};
use crate::context::{Category, Command, Config, Context, Repo};
use crate::render::changesets::ChangesetNames;
use crate::ui::{Abort, Ui};
use varve_repo::{Instabilities, Phase, RepoView, Repository, Rev};
use varve_workdir::{Dirstate, HisteditState, RebaseState, Status, StatusLists};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["summary", "sum"],
    options: &[Flag::long_flag(
        "remote",
        "compare with the paths default and default-push",
    )],
    arguments: 0..=0,
    synopsis: "[--remote]",
    summary: "summarize the state of the working directory",
    help: "Tells the parents, the branch and the bookmarks of the working directory, how many files \
           are changed, what an update would bring, and how many changesets are not public. With --remote, \
           also if there is something to pull or to push.\n\n\
           Ends with 0.",
    category: Some(Category::WorkingDirectory),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    repo.warn_of_disabled_markers(ui)?;
    let view = repo.view()?;
    let names = ChangesetNames::read(&view, ui.encoding)?;
    let parents = repo.working_parents()?;
    let unstable = view.instabilities()?;
    print_parents(repo, ui, (&view, &unstable), &names, &parents)?;
    let branch = repo.working_branch()?;
    let line = [b"branch: ", &ui.local(&branch)[..], b"\n"].concat();
    if branch == varve_repo::DEFAULT_BRANCH {
        ui.status_labelled("log.branch", line)?;
    } else {
        ui.write_labelled("log.branch", line)?;
    }
    print_bookmarks(repo, ui, &names, &parents)?;
    let open = open_heads(&view, &branch)?;
    print_commit(repo, ui, config, &view, &parents, &branch)?;
    print_update(ui, &view, &parents, &open)?;
    print_phases(ui, &view)?;
    let counts = [
        (unstable.orphans.len(), "orphan"),
        (unstable.content_divergent.len(), "content-divergent"),
        (unstable.phase_divergent.len(), "phase-divergent"),
    ];
    for (count, name) in counts.iter().filter(|(count, _)| *count > 0) {
        ui.status(format!("{name}: {count} changesets\n"))?;
    }
    print_rebase(ui, &repo.repository()?)?;
    print_histedit(ui, &repo.repository()?)?;
    if matches.flag("remote") {
        remote::print(repo, ui, config)?;
    }
    Ok(0)
}

/// Tells of an edit of history that waits for the user.
fn print_histedit(ui: &mut Ui, repository: &Repository) -> Result<(), Abort> {
    let Some(state) = HisteditState::read(repository)? else {
        return Ok(());
    };
    match state.rules.len() {
        0 => Ok(()),
        left => ui.write(format!("hist:   {left} remaining (histedit --continue)\n")),
    }
}

/// Tells of a rebase that waits for the user.
fn print_rebase(ui: &mut Ui, repository: &Repository) -> Result<(), Abort> {
    let Some(state) = RebaseState::read(repository)? else {
        return Ok(());
    };
    let done = state.steps.iter().filter(|step| step.new.is_some()).count();
    let left = state.steps.len() - done;
    ui.write(format!(
        "rebase: {done} rebased, {left} remaining (rebase --continue)\n"
    ))
}

fn print_parents(
    repo: &mut Repo,
    ui: &mut Ui,
    (view, unstable): (&RepoView, &Instabilities),
    names: &ChangesetNames,
    parents: &[Rev],
) -> Result<(), Abort> {
    if parents.is_empty() {
        let hex = ui.hex(&varve_repo::Node::NULL);
        let rest = if view.changelog().is_empty() {
            "tip (empty repository)"
        } else {
            " (no revision checked out)"
        };
        return ui.write(format!("parent: -1:{hex} {rest}\n"));
    }
    for parent in parents {
        let line = format!("parent: {} ", repo.rev_and_hex(*parent)?);
        let tags = names.tags(*parent).join(&b' ');
        let state: Vec<&str> = match unstable.obsolete.contains(parent) {
            true => vec!["obsolete"],
            false => unstable.names(*parent).collect(),
        };
        let state = match state.is_empty() {
            true => String::new(),
            false => format!(" ({})", state.join(", ")),
        };
        let phase = view.phases().of(*parent).name();
        ui.write_labelled(&format!("log.changeset changeset.{phase}"), line)?;
        ui.write_labelled("log.tag", &tags)?;
        ui.write([state.as_bytes(), b"\n"].concat())?;
        let first = view.with_changeset(*parent, |changeset| {
            let text = changeset.description.trim_ascii();
            let line = text.split(|byte| *byte == b'\n').next();
            line.unwrap_or_default().trim_ascii().to_vec()
        })?;
        if !first.is_empty() {
            let line = [b" ", &ui.local(&first)[..], b"\n"].concat();
            ui.status_labelled("log.summary", line)?;
        }
    }
    Ok(())
}

fn print_bookmarks(
    repo: &mut Repo,
    ui: &mut Ui,
    names: &ChangesetNames,
    parents: &[Rev],
) -> Result<(), Abort> {
    let marks = parents.iter().flat_map(|parent| names.bookmarks(*parent));
    let mut marks: Vec<Vec<u8>> = marks.cloned().collect();
    if marks.is_empty() {
        return Ok(());
    }
    ui.write_labelled("log.bookmark", "bookmarks:")?;
    if let Some(active) = repo.active_bookmark()?.map(|active| ui.local(&active))
        && let Some(at) = marks.iter().position(|mark| *mark == active)
    {
        let line = [b" *", &marks.remove(at)[..]].concat();
        ui.write_labelled("bookmarks.active bookmarks.current", line)?;
    }
    for mark in marks {
        ui.write_labelled("log.bookmark", [b" ", &mark[..]].concat())?;
    }
    ui.write_labelled("log.bookmark", "\n")
}

/// Heads of a branch that are not closed.
fn open_heads(view: &RepoView, branch: &[u8]) -> Result<Vec<Rev>, Abort> {
    let Some(heads) = view.branchmap()?.get(branch) else {
        return Ok(Vec::new());
    };
    let open = heads
        .heads
        .iter()
        .filter(|head| !heads.closed.contains(head));
    Ok(open.copied().collect())
}

/// Numbers of files with the word for them.
type Counts = Vec<(usize, &'static str)>;

/// How many files there are of each kind, in the order of the line, and whether a commit would
/// have any of them.
fn counted(repo: &mut Repo) -> Result<(Counts, bool), Abort> {
    let listing = StatusLists {
        unknown: true,
        ..StatusLists::default()
    };
    let status = repo.working_status(listing)?;
    let dirstate = Dirstate::read(&repo.repository()?)?;
    let Status {
        modified,
        mut added,
        mut removed,
        deleted,
        unknown,
        ..
    } = status;
    let (mut renamed, mut copied) = (0, 0);
    for (path, source) in dirstate.copies() {
        // After a merge, a copy may be in the first parent and count as modified.
        if let Some(at) = added.iter().position(|file| file == path) {
            added.remove(at);
        } else if modified.iter().all(|file| file != path) {
            continue;
        }
        match removed.iter().position(|file| file == source) {
            Some(from) => {
                removed.remove(from);
                renamed += 1;
            }
            None => copied += 1,
        }
    }
    let changed = modified.len() + added.len() + removed.len() + renamed + copied > 0;
    let unresolved = varve_workdir::unresolved(&repo.repository()?)?;
    let counts = vec![
        (modified.len(), "modified"),
        (added.len(), "added"),
        (removed.len(), "removed"),
        (renamed, "renamed"),
        (copied, "copied"),
        (deleted.len(), "deleted"),
        (unknown.len(), "unknown"),
        (unresolved, "unresolved"),
    ];
    Ok((counts, changed))
}

fn print_commit(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    view: &RepoView,
    parents: &[Rev],
    branch: &[u8],
) -> Result<(), Abort> {
    let (counts, changed) = counted(repo)?;
    let words = counts.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = words
        .map(|(count, word)| {
            let label = match *word {
                "renamed" | "copied" => "status.copied".to_owned(),
                "unresolved" => "resolve.unresolved".to_owned(),
                "subrepos" => "status.subrepo".to_owned(),
                word => format!("status.{word}"),
            };
            let painted = ui
                .painter
                .paint(&label, format!("{count} {word}").as_bytes());
            String::from_utf8_lossy(&painted).into_owned()
        })
        .collect();
    let mut line = words.join(", ");
    let first = parents.first().copied();
    let (parent_branch, closes) = match first {
        Some(rev) => view.with_changeset(rev, |changeset| {
            (changeset.branch().into_owned(), changeset.closes_branch())
        })?,
        None => (varve_repo::DEFAULT_BRANCH.to_vec(), false),
    };
    let heads = view
        .branchmap()?
        .get(branch)
        .map(|heads| heads.heads.clone());
    let heads = heads.unwrap_or_default();
    let is_head = first.is_none_or(|rev| heads.contains(&rev));
    let mut clean = false;
    if varve_workdir::GraftState::is_there(&repo.repository()?)? {
        line += " (graft in progress)";
    }
    if varve_workdir::is_interrupted(&repo.repository()?)? {
        line += " (interrupted update)";
    } else if parents.len() > 1 {
        line += " (merge)";
    } else if branch != parent_branch {
        line += " (new branch)";
    } else if closes && is_head {
        line += " (head closed)";
    } else if !changed {
        line += " (clean)";
        clean = true;
    } else if !is_head {
        line += " (new branch head)";
    }
    if is_secret(config, view, parents) {
        line += " (secret)";
    }
    let line = format!("commit: {}\n", line.trim());
    if clean {
        ui.status(line)
    } else {
        ui.write(line)
    }
}

/// Whether the next commit would be secret.
fn is_secret(config: &Config, view: &RepoView, parents: &[Rev]) -> bool {
    let asked = config.get("phases", "new-commit");
    let by_parent = parents
        .iter()
        .any(|rev| view.phases().of(*rev) == Phase::Secret);
    by_parent || matches!(asked, Some(b"secret" | b"2"))
}

fn print_update(ui: &mut Ui, view: &RepoView, parents: &[Rev], open: &[Rev]) -> Result<(), Abort> {
    let theirs = with_ancestors(view, open);
    let ours = with_ancestors(view, parents);
    let count = theirs
        .iter()
        .zip(&ours)
        .filter(|(theirs, ours)| **theirs && !**ours)
        .count();
    if count == 0 {
        return ui.status("update: (current)\n");
    }
    let at_head = parents.first().is_some_and(|parent| open.contains(parent));
    ui.write(if at_head {
        let heads = open.len();
        format!("update: {count} new changesets, {heads} branch heads (merge)\n")
    } else {
        format!("update: {count} new changesets (update)\n")
    })
}

/// For each changeset whether it is one of these or an ancestor.
fn with_ancestors(view: &RepoView, revs: &[Rev]) -> Vec<bool> {
    let changelog = view.changelog();
    let mut reached = vec![false; changelog.len()];
    for rev in revs {
        reached[rev.index()] = true;
    }
    for rev in changelog.revs().rev() {
        if reached[rev.index()] {
            for parent in changelog.parents(rev).into_iter().flatten() {
                reached[parent.index()] = true;
            }
        }
    }
    reached
}

fn print_phases(ui: &mut Ui, view: &RepoView) -> Result<(), Abort> {
    let (mut drafts, mut secrets) = (0, 0);
    for rev in view.changelog().revs().filter(|rev| view.is_visible(*rev)) {
        match view.phases().of(rev) {
            Phase::Draft => drafts += 1,
            Phase::Secret => secrets += 1,
            Phase::Public => {}
        }
    }
    let mut words = Vec::new();
    if drafts > 0 {
        words.push(format!("{drafts} draft"));
    }
    if secrets > 0 {
        words.push(format!("{secrets} secret"));
    }
    if words.is_empty() {
        return Ok(());
    }
    ui.status(format!("phases: {}\n", words.join(", ")))
}

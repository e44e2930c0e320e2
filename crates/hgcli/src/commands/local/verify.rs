//! `verify`: whether everything in the store can be read and fits together.

use crate::arguments::Flag;
use crate::context::{Category, Command, Repo};
use crate::ui::{Abort, Ui};
use std::collections::BTreeSet;
use std::sync::Arc;
use varve_repo::{LockKind, ManifestEntries, Node, RepoView, VerifyEvent, VerifyReport};
use varve_workdir::{Dirstate, EntryState};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["verify"],
    options: &[FULL],
    arguments: 0..=0,
    synopsis: "[OPTION]...",
    summary: "verify the integrity of the repository",
    help: "Reads every changeset, manifest and file revision, checks hashes, and checks that they \
           speak of each other. Files are read by all cores.\n\n\
           Ends with 0; with 1 if anything is damaged.",
    category: Some(Category::Maintenance),
    run: |context, matches| {
        verify_repository(&mut context.repo, &mut context.ui, matches.flag("full"))
    },
};

/// `--full`.
const FULL: Flag = Flag::long_flag("full", "put every manifest together and check its hash");

/// Verifies the repository; gives the exit code.
///
/// # Errors
/// A store that cannot be read at all.
pub fn verify_repository(repo: &mut Repo, ui: &mut Ui, full: bool) -> Result<u8, Abort> {
    let repository = repo.repository()?;
    if repo.is_bundle() {
        return Err(Abort::new("cannot verify bundle or remote repos"));
    }
    let lock = repo.lock(ui, LockKind::Store)?;
    repo.warn_of_disabled_markers(ui)?;
    if repository.has_journal()? {
        ui.warn("abandoned transaction found - run hg recover\n")?;
    }
    ui.note("repository uses revlog format 1\n")?;
    let mut told = Ok(());
    let progress = std::mem::replace(&mut ui.progress, Box::new(varve_base::Silent));
    let stop = ui.stop.clone();
    let mut report_event = |event: VerifyEvent<'_>| {
        let printed = match event {
            VerifyEvent::Step(step) => ui.status(format!("{step}\n")),
            VerifyEvent::Problem(line) => ui.warn([line, b"\n"].concat()),
        };
        if told.is_ok() {
            told = printed;
        }
    };
    let report = repository.verify(&lock, full, &mut report_event, progress.as_ref(), &stop);
    ui.progress = progress;
    let report = report?;
    told?;
    let dirstate = if report.errors == 0 {
        check_dirstate(repo, ui)?
    } else {
        ui.warn("not checking dirstate because of previous errors\n")?;
        0
    };
    print_counts(ui, &report, dirstate)?;
    Ok(u8::from(report.errors + dirstate > 0))
}

fn print_counts(ui: &mut Ui, report: &VerifyReport, dirstate: usize) -> Result<(), Abort> {
    let VerifyReport {
        changesets,
        revisions,
        files,
        warnings,
        ..
    } = report;
    ui.status(format!(
        "checked {changesets} changesets with {revisions} changes to {files} files\n"
    ))?;
    if *warnings > 0 {
        ui.warn(format!("{warnings} warnings encountered!\n"))?;
    }
    if report.incomplete_list {
        let program = "hg debugrebuildfncache";
        ui.warn(format!(
            "hint: run \"{program}\" to recover from corrupt fncache\n"
        ))?;
    }
    let errors = report.errors + dirstate;
    if errors > 0 {
        ui.warn(format!("{errors} integrity errors encountered!\n"))?;
        if let Some(first) = report.first_damaged {
            ui.warn(format!("(first damaged changeset appears to be {first})\n"))?;
        }
        if dirstate > 0 {
            let inconsistent = "dirstate inconsistent with current parent's manifest\n";
            ui.warn(format!("{inconsistent}{dirstate} dirstate errors\n"))?;
        }
    }
    Ok(())
}

/// Compares the dirstate with the manifests of its parents; returns how much is wrong.
pub(crate) fn check_dirstate(repo: &mut Repo, ui: &mut Ui) -> Result<usize, Abort> {
    ui.status("checking dirstate\n")?;
    let repository = repo.repository()?;
    let view = repo.view()?;
    let dirstate = Dirstate::read(&repository)?;
    let mut parents = dirstate.parents();
    for parent in &mut parents {
        if !parent.is_null() && view.changelog().rev(parent).is_none() {
            let short = &parent.to_string()[..12];
            ui.warn(format!(
                "warning: ignoring unknown working parent {short}!\n"
            ))?;
            *parent = Node::NULL;
        }
    }
    let [first, second] = [tracked(&view, &parents[0])?, tracked(&view, &parents[1])?];
    let short = parents[0].to_string()[..12].to_owned();
    let mut problems: Vec<Vec<u8>> = Vec::new();
    for (path, item) in dirstate.iter() {
        let in_first = first.contains(path);
        let problem = match item.state() {
            EntryState::Added if in_first => "marked as added, but also in manifest1".to_owned(),
            EntryState::Merged if !in_first && !second.contains(path) => {
                "marked as modified, but not in either manifest".to_owned()
            }
            EntryState::Added | EntryState::Merged => continue,
            EntryState::Normal | EntryState::Removed if item.tracking().p1 && !in_first => {
                format!("marked as tracked in p1 ({short}) but not in manifest1")
            }
            EntryState::Normal | EntryState::Removed => continue,
        };
        problems.push([path, b" ", problem.as_bytes()].concat());
    }
    for path in &first {
        if !dirstate.get(path).is_some_and(|item| item.tracking().p1) {
            let problem = format!(" in manifest1, but not marked as tracked in p1 ({short})");
            problems.push([&path[..], problem.as_bytes()].concat());
        }
    }
    for problem in &problems {
        ui.warn([&problem[..], b"\n"].concat())?;
    }
    Ok(problems.len())
}

/// The files of a changeset.
fn tracked(view: &Arc<RepoView>, node: &Node) -> Result<BTreeSet<Vec<u8>>, Abort> {
    let Some(rev) = view.changelog().rev(node) else {
        return Ok(BTreeSet::new());
    };
    let manifest = view.with_changeset(rev, |changeset| changeset.manifest)?;
    let log = view.manifest()?;
    let Some(rev) = log.rev(&manifest) else {
        return Ok(BTreeSet::new());
    };
    let text = log.text(rev)?;
    Ok(ManifestEntries::new(&text)
        .filter_map(Result::ok)
        .map(|entry| entry.path.to_vec())
        .collect())
}

//! `revert`: files as they are in a changeset.

mod interactive;

use super::attend;
use super::commit;
use super::commit::interactive::INTERACTIVE;
use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches};
use crate::context::{Category, Command, Config, Context, Repo};
use crate::ui::{Abort, Ui};
use varve_lang::patterns::Matcher;
use varve_repo::{LockKind, RepoView, Repository, Rev};
use varve_workdir::filesets::FilesetTarget;
use varve_workdir::{
    Backups, Dirstate, PathAuditor, RevertAction, RevertPlan, Status, Tree, WorkingFiles,
    plan_revert, record_reverted_copies,
};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["revert"],
    options: &[
        Flag::flag('a', "all", "all files that changed"),
        Flag::value(
            'd',
            "date",
            "DATE",
            "take the newest changeset of that date",
        ),
        Flag::value('r', "rev", "REV", "the changeset to take the files from"),
        Flag::flag('C', "no-backup", "do not keep what is overwritten"),
        INTERACTIVE,
        INCLUDE,
        EXCLUDE,
        Flag::flag('n', "dry-run", "only say what would be done"),
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [-r REV] [NAME]...",
    summary: "restore files to their checkout state",
    help: "Gives the named files the content that they have in REV, or in the parent of the \
           working directory. What was added is no longer tracked, what was removed is back. What is \
           overwritten is kept in a file with .orig behind its name, or below the directory of \
           ui.origbackuppath.\n\n\
           The parent of the working directory stays; see update for going to another changeset.\n\n\
           Ends with 0.",
    category: Some(Category::Committing),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let (rev, date) = asked(matches)?;
    let repository = context.repo.repository()?;
    let working_copy = context.repo.lock(&mut context.ui, LockKind::WorkingCopy)?;
    let mut dirstate = Dirstate::read(&repository)?;
    let [p1, p2] = dirstate.parents();
    if !p2.is_null() && rev.is_none() && date.is_none() {
        return Err(Abort::input("uncommitted merge with no revision specified")
            .hint("use 'hg update' or see 'hg help revert'"));
    }
    let view = context.repo.view()?;
    let parent = view.changelog().rev(&p1);
    let target = target((&mut context.repo, &mut context.ui), (rev, date), parent)?;
    let names_nothing = matches.arguments().is_empty()
        && matches.list("include").is_empty()
        && matches.list("exclude").is_empty();
    let auditor = PathAuditor::new(repository.root());
    let (names, at) = (matches.arguments(), FilesetTarget::Working);
    let matcher = context.repo.matcher_with(matches, names, &auditor, at)?;
    let status = commit::working_changes(&context.ui, &repository, &matcher, &mut dirstate)?;
    if names_nothing && !matches.flag("all") && !matches.flag("interactive") {
        return Err(nothing_named(
            &status,
            !p2.is_null(),
            target,
            target != parent,
        ));
    }
    let (from, to) = (Tree::of(&view, parent)?, Tree::of(&view, target)?);
    let files = WorkingFiles::of(&repository);
    let mut plan = plan_revert(&dirstate, (&from, &to), &status, &files, &matcher)?;
    if matches.flag("dry-run") {
        plan.steps.sort_by(|a, b| a.path.cmp(&b.path));
    }
    let backups = backups(&context.config, matches);
    let mut revert = Revert {
        repo: &mut context.repo,
        ui: &mut context.ui,
        config: &context.config,
        matches,
        repository: &repository,
        view: &view,
        dirstate,
        matcher: &matcher,
        backups: &backups,
        target: (parent, target),
    };
    revert.carry_out(&plan, (&from, &to))?;
    drop(working_copy);
    Ok(0)
}

/// The changeset that the options name, or the first parent.
fn target(
    (repo, ui): (&mut Repo, &mut Ui),
    (rev, date): RevisionOptions<'_>,
    parent: Option<Rev>,
) -> Result<Option<Rev>, Abort> {
    match (rev, date) {
        (Some(spec), _) => repo.revision(ui, Some(spec)),
        (_, Some(date)) => Ok(Some(repo.tipmost_of_date(ui, date)?)),
        _ => Ok(parent),
    }
}

/// One call of the command, under the lock of the working copy.
struct Revert<'a> {
    repo: &'a mut Repo,
    ui: &'a mut Ui,
    config: &'a Config,
    matches: &'a Matches,
    repository: &'a Repository,
    view: &'a RepoView,
    dirstate: Dirstate,
    matcher: &'a Matcher,
    backups: &'a Backups,
    /// The first parent of the working copy, and the changeset that the files are taken from.
    target: (Option<Rev>, Option<Rev>),
}

impl Revert<'_> {
    /// Says what the plan does and does it, as far as the options want that.
    fn carry_out(&mut self, plan: &RevertPlan, trees: (&Tree<'_>, &Tree<'_>)) -> Result<(), Abort> {
        let is_dry = self.matches.flag("dry-run");
        let asks = self.matches.flag("interactive") && !is_dry;
        if !asks {
            self.report(plan, self.backups)?;
        }
        let (repo, ui) = (&mut *self.repo, &mut *self.ui);
        let place = (self.repository, &self.dirstate);
        print_named(repo, ui, place, self.matcher, trees, plan, self.target.1)?;
        match (is_dry, asks) {
            (true, _) => return Ok(()),
            (_, true) => return self.choose(plan),
            (_, false) => self.apply(plan, self.backups)?,
        }
        Ok(self.dirstate.write(self.repository)?)
    }

    /// Says what is done to each file, and with `--verbose` where it is kept.
    fn report(&mut self, plan: &RevertPlan, backups: &Backups) -> Result<(), Abort> {
        let files = WorkingFiles::new(self.repository.root());
        report(self.repo, self.ui, plan, self.matcher, (&files, backups))
    }

    fn apply(&mut self, plan: &RevertPlan, backups: &Backups) -> Result<(), Abort> {
        let stop = self.ui.stop.clone();
        let (repository, view) = (self.repository, self.view);
        let dirstate = &mut self.dirstate;
        varve_workdir::revert(repository, view, dirstate, plan, backups, &stop)?;
        let (parent, target) = self.target;
        Ok(record_reverted_copies(
            view, dirstate, plan, parent, target,
        )?)
    }
}

/// Where the files are kept that the command overwrites.
fn backups(config: &Config, matches: &Matches) -> Backups {
    match matches.flag("no-backup") {
        true => Backups::None,
        false => attend::backup_directory(config),
    }
}

/// Values of `--rev` and `--date`.
type RevisionOptions<'m> = (Option<&'m [u8]>, Option<&'m [u8]>);

fn asked(matches: &Matches) -> Result<RevisionOptions<'_>, Abort> {
    let date = matches.value("date").filter(|date| !date.is_empty());
    let rev = matches.value("rev").filter(|rev| !rev.is_empty());
    if date.is_some() && rev.is_some() {
        return Err(Abort::input("cannot specify both --date and --rev"));
    }
    Ok((rev, date))
}

fn nothing_named(status: &Status, is_merge: bool, target: Option<Rev>, is_other: bool) -> Abort {
    let number = target.map_or(-1, |rev| i64::from(rev.0));
    let dirty = !status.is_unchanged();
    let hint = match (is_merge, is_other, dirty) {
        (true, ..) => "uncommitted merge, use --all to discard all changes, or 'hg update -C .' to abort the merge".to_owned(),
        (_, true, true) => format!("uncommitted changes, use --all to discard all changes, or 'hg update {number}' to update"),
        (_, true, false) => format!("use --all to revert all files, or 'hg update {number}' to update"),
        (_, false, true) => "uncommitted changes, use --all to discard all changes".to_owned(),
        (_, false, false) => "use --all to revert all files".to_owned(),
    };
    Abort::input("no files or directories specified").hint(hint)
}

/// Says what is done to each file.
pub(crate) fn report(
    repo: &Repo,
    ui: &mut Ui,
    plan: &RevertPlan,
    matcher: &Matcher,
    (files, backups): (&WorkingFiles, &Backups),
) -> Result<(), Abort> {
    for step in &plan.steps {
        if step.loses_content
            && files.look(&step.path)?.is_some()
            && let Some(place) = backups.place(&step.path)
        {
            print_backup(repo, ui, &step.path, &place, files)?;
        }
        if matcher.is_exact(&step.path) && !ui.verbosity.verbose {
            continue;
        }
        let verb = match step.action {
            RevertAction::Forget => "forgetting ",
            RevertAction::Remove => "removing ",
            RevertAction::Revert => "reverting ",
            RevertAction::Add => "adding ",
            RevertAction::Undelete => "undeleting ",
        };
        let shown = repo.display_path(&step.path)?;
        ui.status([verb.as_bytes(), &shown, b"\n"].concat())?;
    }
    Ok(())
}

/// Says where a file is kept.
fn print_backup(
    repo: &Repo,
    ui: &mut Ui,
    path: &[u8],
    place: &[u8],
    files: &WorkingFiles,
) -> Result<(), Abort> {
    let directory = files.path(place);
    if let Some(directory) = directory.parent().filter(|directory| !directory.is_dir()) {
        ui.note(format!("creating directory: {}\n", directory.display()))?;
    }
    let (path, place) = (repo.display_path(path)?, repo.display_path(place)?);
    ui.note(
        [
            b"saving current version of ",
            &path[..],
            b" as ",
            &place,
            b"\n",
        ]
        .concat(),
    )
}

/// Says of each named file for which nothing is done, why.
fn print_named(
    repo: &mut Repo,
    ui: &mut Ui,
    (repository, dirstate): (&Repository, &Dirstate),
    matcher: &Matcher,
    (from, to): (&Tree<'_>, &Tree<'_>),
    plan: &RevertPlan,
    target: Option<Rev>,
) -> Result<(), Abort> {
    if matcher.is_wild() {
        return Ok(());
    }
    for path in matcher.named().iter().filter(|path| !path.is_empty()) {
        let below = [&path[..], b"/"].concat();
        let is_done =
            |step: &varve_workdir::RevertStep| step.path == *path || step.path.starts_with(&below);
        if plan.steps.iter().any(is_done) {
            continue;
        }
        let shown = String::from_utf8_lossy(&repo.display_path(path)?).into_owned();
        let is_known = from.get(path)?.is_some() || to.get(path)?.is_some();
        if is_known || dirstate.get(path).is_some() {
            ui.warn(format!("no changes needed to {shown}\n"))?;
            continue;
        }
        let on_disk = WorkingFiles::new(repository.root())
            .path(path)
            .symlink_metadata();
        let is_directory = dirstate.below(path).next().is_some();
        match on_disk {
            _ if is_directory => {}
            Ok(found) if !found.is_dir() => {
                ui.warn(format!("file not managed: {shown}\n"))?;
            }
            _ => {
                let view = repo.view()?;
                let node = view.changelog().node_or_null(target);
                repo.warn_not_in_revision(ui, path, &node)?;
            }
        }
    }
    Ok(())
}

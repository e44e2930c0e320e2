//! `absorb`: changes of the working copy become part of the changesets that brought the lines around them.

mod editing;
mod preview;
mod run;

use super::commit::{self, interactive};
use super::strip;
use super::unfinished;
use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches, STYLE, TEMPLATE};
use crate::context::{Category, Command, Config, Context, Repo};
use crate::ui::{Abort, FailureKind, Ui};
use varve_lang::patterns::Matcher;
use varve_repo::{LockKind, Repository, ViewFilter};
use varve_workdir::filesets::FilesetTarget;
use varve_workdir::{
    AbsorbStack, AbsorbedFile, Dirstate, FollowedSources, PathAuditor, WorkdirError, WorkingFiles,
};

/// See [`Command`]. The extension `absorb` switches it on.
pub(crate) const COMMAND: Command = Command {
    names: &["absorb"],
    options: &[
        Flag::flag(
            'a',
            "apply-changes",
            "do not ask before changes are applied",
        ),
        Flag::flag(
            'p',
            "print-changes",
            "show which changes go to which changesets",
        ),
        interactive::INTERACTIVE,
        Flag::flag(
            'e',
            "edit-lines",
            "change in an editor which lines belong to which changeset",
        ),
        Flag::flag('n', "dry-run", "show what would be done"),
        STYLE,
        TEMPLATE,
        INCLUDE,
        EXCLUDE,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION] [FILE]...",
    summary: "incorporate corrections into the stack of draft changesets",
    help: "Each change of the working directory becomes part of the changeset that brought the lines which it \
           touches. The changesets in question are those up to the working directory's parent that are not \
           public, down to the first merge; absorb.max-stack-size limits their number.\n\n\
           What touches lines of several changesets, or of older ones, stays a change of the working directory, \
           as do all changes of file names and of binary files. The files of the working directory stay as they \
           are.\n\n\
           Shows the changes and asks whether to apply them. --apply-changes neither shows nor asks.\n\n\
           --edit-lines does not ask either. It opens the editor on each changed file, with the lines of all its \
           versions: a y in a column says that the line belongs to the changeset of that column.\n\n\
           A changeset that becomes empty goes, unless rewrite.empty-successor is keep. The old changesets are \
           marked as obsolete if experimental.evolution allows createmarkers; else they are removed, and a bundle \
           in .hg/strip-backup keeps them.\n\n\
           Ends with 0; with 1 if nothing was absorbed.",
    category: Some(Category::Committing),
    run,
};

/// The exit code when nothing was absorbed.
const NOTHING: u8 = 1;
/// How many changesets are looked at, where `absorb.max-stack-size` does not say.
const STACK_SIZE: i64 = 50;

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let repository = repo.repository()?;
    let working_copy = repo.lock(ui, LockKind::WorkingCopy)?;
    repo.refresh();
    let mut dirstate = Dirstate::read(&repository)?;
    let stack = stack((repo, ui, config), &repository, &dirstate)?;
    let place = (&repository, &stack);
    let mut files = files((repo, ui, config), matches, place, &mut dirstate)?;
    let is_dry = matches.flag("dry-run");
    let edits = matches.flag("edit-lines");
    let asks = !edits && !matches.flag("apply-changes");
    let affects = |files: &[AbsorbedFile]| match files.iter().any(|file| file.applied > 0) {
        true => 0,
        false => NOTHING,
    };
    if matches.flag("print-changes") || asks || is_dry && !edits {
        preview::print((repo, ui, config), matches, &files)?;
    }
    if is_dry {
        return Ok(affects(&files));
    }
    if edits {
        editing::edit((repo, ui), &mut files)?;
    }
    if !files.iter().any(|file| file.changes(&stack)) {
        ui.status("nothing applied\n")?;
        return Ok(affects(&files));
    }
    if asks && !preview::confirms(ui)? {
        return Err(Abort::of_kind(FailureKind::Canceled, "absorb cancelled\n"));
    }
    let parts = (&repository, &mut dirstate);
    run::carry_out((repo, ui, config), parts, (&stack, &files))?;
    drop(working_copy);
    Ok(affects(&files))
}

/// The changesets that may absorb changes.
fn stack(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    repository: &Repository,
    dirstate: &Dirstate,
) -> Result<AbsorbStack, Abort> {
    unfinished::refuse(repository)?;
    if !config.evolution()?.markers {
        repo.refuse_hooks("absorb", strip::UNCALLED_HOOKS)?;
    }
    let parents = dirstate.parents();
    if !parents[1].is_null() {
        return Err(Abort::state("outstanding uncommitted merge")
            .hint("use 'hg commit' or 'hg merge --abort'"));
    }
    let limit = config.integer("absorb", "max-stack-size")?;
    let limit = limit.unwrap_or(STACK_SIZE);
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let top = view.changelog().rev(&parents[0]);
    let stack = AbsorbStack::of(&view, top, limit);
    if stack.is_cut {
        ui.warn(format!(
            "absorb: only the recent {limit} changesets will be analysed\n"
        ))?;
    }
    if stack.revs.is_empty() {
        let is_merge = top.is_some_and(|rev| view.changelog().parents(rev)[1].is_some());
        return Err(Abort::input(match is_merge {
            true => "cannot absorb into a merge",
            false => "no mutable changeset to change",
        }));
    }
    Ok(stack)
}

/// The changed files, and where their changes belong.
fn files(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    matches: &Matches,
    (repository, stack): (&Repository, &AbsorbStack),
    dirstate: &mut Dirstate,
) -> Result<Vec<AbsorbedFile>, Abort> {
    let auditor = PathAuditor::new(repo.root()?);
    let arguments = matches.arguments();
    let target = FilesetTarget::Working;
    let matcher: Matcher = repo.matcher_with(matches, arguments, &auditor, target)?;
    repo.warn_of_missing_files(ui, &matcher, dirstate)?;
    let status = commit::working_changes(ui, repository, &matcher, dirstate)?;
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let edits = matches.flag("edit-lines");
    // Without any change, the lines of files that are named may be moved between changesets all the same.
    let unchanged = match edits && status.modified.is_empty() {
        true => editing::named_unchanged(&matcher, dirstate, &status),
        false => Vec::new(),
    };
    let mut chosen = None;
    if matches.flag("interactive") && unchanged.is_empty() {
        let whom = (&mut *ui, config, matches);
        let place = (repository, &*view);
        chosen = match interactive::choose_to_absorb(whom, place, dirstate, &matcher)? {
            None => return Ok(Vec::new()),
            chosen => chosen.map(|chosen| chosen.files),
        };
    }
    let working = WorkingFiles::of(repository);
    let (mut files, mut followed) = (Vec::new(), FollowedSources::default());
    for path in status.modified.iter().chain(&unchanged) {
        ui.stop.check().map_err(WorkdirError::from)?;
        ui.debug([b"calculating fixups for ", &path[..], b"\n"].concat())?;
        let (content, kind) = match &chosen {
            None => working.read(path)?,
            Some(chosen) => match chosen.written.get(path) {
                Some(file) => file.clone(),
                None => continue,
            },
        };
        if kind == varve_repo::FileKind::Symlink {
            continue;
        }
        files.extend(AbsorbedFile::read(
            &view,
            stack,
            (path, content),
            &mut followed,
        )?);
    }
    if !edits {
        files.retain(|file| !file.hunks.is_empty());
    }
    Ok(files)
}

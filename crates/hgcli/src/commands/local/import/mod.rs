//! `import`: patches become changesets.

mod options;
mod run;
mod source;
mod text;
mod words;

pub(crate) use words::print_notice;

use crate::arguments::{Flag, Matches};
use crate::commands::local::commit::{self, metadata};
use crate::commands::local::unfinished;
use crate::context::{Category, Command, Context};
use crate::ui::Abort;
use options::ImportOptions;
use run::ImportRun;
use varve_repo::LockKind;
use varve_workdir::{Dirstate, PatchSession, SessionStart};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["import", "patch"],
    options: &[
        Flag::value(
            'p',
            "strip",
            "NUM",
            "directories to strip from paths (1 without it)",
        ),
        Flag::value('b', "base", "PATH", "where the patches lie"),
        Flag::long_flag("secret", "the changesets are secret"),
        Flag::flag('e', "edit", "edit the descriptions"),
        Flag::flag(
            'f',
            "force",
            "work on top of changes that are not committed",
        ),
        Flag::long_flag("no-commit", "change only the working directory"),
        Flag::long_flag("bypass", "commit without touching the working directory"),
        Flag::long_flag("partial", "commit even if some hunks do not fit"),
        Flag::long_flag(
            "exact",
            "refuse to make another changeset than the exported one",
        ),
        Flag::long_value("prefix", "DIR", "the directory that paths begin in"),
        Flag::long_flag(
            "import-branch",
            "take the branch from the patch (as --exact does)",
        ),
        metadata::MESSAGE,
        metadata::LOGFILE,
        metadata::DATE,
        metadata::USER,
        Flag::value(
            's',
            "similarity",
            "SIMILARITY",
            "how alike a renamed file is, in percent",
        ),
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... PATCH...",
    summary: "import an ordered set of patches",
    help: "Applies patches and commits each. A PATCH is a file, a URL, or - for the standard input, and may \
           hold several: changesets as 'hg export' prints them, mails, or a mailbox. Text before the differences is the \
           description; headers of 'hg export' and of mails name the user and the date. Options go before both.\n\n\
           The working directory must have no changes. With --bypass it is not touched, and the patches are applied \
           on its parent.\n\n\
           Hunks are looked for near their place; up to patch.fuzz lines of context (2) need not fit at each end. Hunks \
           that fit nowhere are kept in FILE.rej, and nothing is committed, unless --partial says so: then amend the \
           changeset when you have dealt with them. patch.eol says what lines end with: strict, crlf, lf or \
           auto. A program in ui.patch is refused.\n\n\
           With --exact each patch is applied on the parent that it names, and the changeset must be the one that \
           was exported.\n\n\
           Either all patches are committed or none.\n\n\
           Ends with 0; with 1 if --partial left out hunks.",
    category: Some(Category::Committing),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let options = ImportOptions::read(config, matches)?;
    let repository = repo.repository()?;
    let working_copy = repo.lock(ui, LockKind::WorkingCopy)?;
    if !options.bypass {
        unfinished::refuse(&repository)?;
        if options.exact || !matches.flag("force") {
            commit::refuse_changes(ui, &repository)?;
        }
    }
    let batch = match options.no_commit {
        true => None,
        false => {
            let lock = repo.lock(ui, LockKind::Store)?;
            let write = metadata::write_options(config, &repository)?;
            Some(repository.begin_named(lock, write, "import")?)
        }
    };
    repo.refresh();
    let view = repo.view()?;
    let stop = ui.stop.clone();
    let session = PatchSession::begin(SessionStart {
        repository: &repository,
        view: &view,
        dirstate: Dirstate::read(&repository)?,
        batch,
        stop: &stop,
    })?;
    let mut run = ImportRun {
        repo,
        ui,
        config,
        matches,
        options: &options,
        repository: &repository,
        session,
        unsaved: Vec::new(),
        committed: Vec::new(),
        has_written: false,
    };
    let code = match run.import_all() {
        Ok(code) => run.finish(code),
        Err(error) => Err(run.undo(error)?),
    };
    drop(working_copy);
    code
}

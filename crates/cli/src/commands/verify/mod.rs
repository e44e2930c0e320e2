//! `verify` as `hg` has it, and the same for databases and for all that a directory keeps.

mod database;
mod target;

use database::Database;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use target::{Served, Target};
use varve_base::DiskStorage;
use varve_hgcli::arguments::{Flag, Matches};
use varve_hgcli::context::{Category, Command, Context};
use varve_hgcli::ui::{Abort, Ui};
use varve_hgcli::verify_repository;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["verify"],
    options: &[
        Flag::long_flag("full", "put every manifest together and check its hash"),
        Flag::long_value(
            "salvage",
            "FILE",
            "write what can be read of a database into a new file",
        ),
        Flag::long_flag(
            "cut-off",
            "cut off what stands behind the newest whole commit of a database",
        ),
    ],
    arguments: 0..=1,
    synopsis: "[OPTION]... [PATH]",
    summary: "verify the integrity of the repository",
    help: "Reads every changeset, manifest and file revision, checks hashes, and checks that they \
           speak of each other. Files are read by all cores.\n\n\
           PATH is a repository (a directory with .hg), the file of a database (such as \
           DIR/databases/NAME.varve; the ending may be left out), or a directory that 'varve serve' serves, \
           of which all databases and repositories are verified, each below a line with its path. Without \
           PATH it is the repository around the current directory.\n\n\
           Of a database, reads everything in it that can be reached: trees, \
           documents with all revisions, bodies, attachments, local documents. Each finding is a \
           line that says what is damaged, where in the file, and which documents that hits. The \
           database may be served meanwhile; its newest state is checked. With --salvage, all that \
           can be read is then written into a new file, and each line says what is left out.\n\n\
           A database with more behind its newest whole commit than a crash explains is served for \
           reading only. With --cut-off, that is given up, and the database goes on with the newest whole \
           commit; it must not be served meanwhile, and --salvage should come first.\n\n\
           Ends with 0; with 1 if anything is damaged.",
    category: Some(Category::Maintenance),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let full = matches.flag("full");
    let only_databases = || {
        let options = ["salvage", "cut-off"];
        let given = |name: &&str| matches.value(name).is_some() || matches.flag(name);
        options.into_iter().find(given)
    };
    let refuse = |name| {
        Err(Abort::new(format!(
            "--{name} is for the file of a database"
        )))
    };
    let Some(typed) = matches.arguments().first() else {
        return match only_databases() {
            Some(name) => refuse(name),
            None => verify_repository(&mut context.repo, &mut context.ui, full),
        };
    };
    let named = String::from_utf8_lossy(typed).into_owned();
    match Target::find(&context.repo.cwd, &named)? {
        // As by Mercurial, which takes no arguments here.
        None if context.program == "hg" => Err(COMMAND.usage_error("invalid arguments")),
        None => Err(Abort::new(format!("there is no file or directory {named}"))),
        Some(Target::Database(_)) if full => Err(Abort::new("--full is for repositories")),
        Some(Target::Database(database)) => one_database(&mut context.ui, matches, &database),
        Some(Target::Repository(path)) => match only_databases() {
            Some(name) => refuse(name),
            None => repository(context, &path, full),
        },
        Some(Target::Served(served)) => match only_databases() {
            Some(name) => refuse(name),
            None => verify_all(context, &served, full),
        },
    }
}

/// Verifies a database, and then saves or repairs it as the options say.
fn one_database(ui: &mut Ui, matches: &Matches, database: &Database) -> Result<u8, Abort> {
    let code = database::check(ui, database)?;
    if let Some(to) = matches.value("salvage") {
        database::save(ui, database, to)?;
    }
    if matches.flag("cut-off") {
        database::cut_off(ui, database)?;
    }
    Ok(code)
}

/// Verifies each database and repository of a served directory; 1 if anything is damaged.
fn verify_all(context: &mut Context, served: &Served, full: bool) -> Result<u8, Abort> {
    let storage = DiskStorage::new(&context.repo.cwd);
    let mut worst = 0;
    for path in &served.databases {
        let code = one_of_many(context, path, |context| {
            database::check(&mut context.ui, &Database::require(&storage, path)?)
        })?;
        worst = worst.max(code);
    }
    for path in &served.repositories {
        let code = one_of_many(context, path, |context| repository(context, path, full))?;
        worst = worst.max(code);
    }
    Ok(worst)
}

/// Verifies one database or repository below a line with its path; one that cannot be opened is a finding, and the others go on.
fn one_of_many(
    context: &mut Context,
    path: &Path,
    check: impl FnOnce(&mut Context) -> Result<u8, Abort>,
) -> Result<u8, Abort> {
    context.ui.status(format!("{}:\n", path.display()))?;
    match check(context) {
        Err(abort) if !matches!(abort, Abort::Stopped(_)) && !abort.is_broken_pipe() => {
            context.ui.write(format!("{abort}\n"))?;
            Ok(1)
        }
        done => done,
    }
}

fn repository(context: &mut Context, path: &Path, full: bool) -> Result<u8, Abort> {
    context.switch_to(path.as_os_str().as_bytes())?;
    verify_repository(&mut context.repo, &mut context.ui, full)
}

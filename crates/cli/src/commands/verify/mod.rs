//! `verify` as `hg` has it, and the same for a database's file.

mod database;

use varve_hgcli::arguments::{Flag, Matches};
use varve_hgcli::context::Context;
use varve_hgcli::context::{Category, Command};
use varve_hgcli::ui::Abort;
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
    synopsis: "[OPTION]... [DATABASE]",
    summary: "verify the integrity of the repository",
    help: "Reads every changeset, manifest and file revision, checks hashes, and checks that they \
           speak of each other. Files are read by all cores.\n\n\
           With the file of a database, reads everything in it that can be reached: trees, \
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
    match matches.arguments().first() {
        Some(_) if full => Err(Abort::new("--full is for repositories")),
        Some(path) => {
            let target = database::Target::find(context, path)?;
            let code = database::check(context, &target)?;
            if let Some(to) = matches.value("salvage") {
                database::save(context, &target, to)?;
            }
            if matches.flag("cut-off") {
                database::cut_off(context, &target)?;
            }
            Ok(code)
        }
        None if matches.value("salvage").is_some() => {
            Err(Abort::new("--salvage is for the file of a database"))
        }
        None if matches.flag("cut-off") => {
            Err(Abort::new("--cut-off is for the file of a database"))
        }
        None => verify_repository(&mut context.repo, &mut context.ui, full),
    }
}

//! `dump`: one document for people to read.

use super::{export, moving};
use std::io::Write;
use varve_base::DiskStorage;
use varve_docdb::LOCAL_PREFIX;
use varve_hgcli::arguments::Matches;
use varve_hgcli::context::{Category, Command, Context};
use varve_hgcli::ui::Abort;
use varve_replicate::{ReplicateError, dump_document, dump_local};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["dump"],
    options: &[],
    arguments: 3..=3,
    synopsis: "DIR DB ID",
    summary: "show one document with all of its conflicts and revisions",
    help: "Shows the document ID of the database DB in DIR, a directory that 'varve serve' serves, which it may do \
           meanwhile: the revision tree, and each leaf, the winner first, with its attachments and its text. The tree \
           begins with each leaf and goes back to the oldest ancestor that is known, or to one that was shown before. \
           Local documents are shown, too. 'varve export --doc' writes the same as lines of JSON, with the data of \
           attachments.\n\n\
           Ends with 0.",
    category: Some(Category::Maintenance),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let [directory, name, id] = matches.arguments() else {
        return Err(COMMAND.usage_error("invalid arguments"));
    };
    let directory = context.repo.cwd.join(moving::as_path(directory));
    let storage = DiskStorage::new(&directory);
    let name = String::from_utf8_lossy(name).into_owned();
    let id = String::from_utf8_lossy(id).into_owned();
    export::chosen(&storage, &directory, vec![name.clone()])?;
    let snapshot = export::open(&storage, &name)?;
    let mut out = context.ui.streams.out();
    let found = match id.starts_with(LOCAL_PREFIX) {
        true => dump_local(&snapshot, (&name, &id), &mut out),
        false => dump_document(&snapshot, (&name, &id), &mut out),
    };
    let written = out.flush();
    match found.map_err(|error| moving::abort(error, Some(&name)))? {
        true => written
            .map(|()| 0)
            .map_err(|error| moving::abort(ReplicateError::Output(error), None)),
        false => Err(Abort::new(format!("{name} has no document {id:?}"))),
    }
}

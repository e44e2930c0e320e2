//! `load`: databases from an export.

use super::moving;
use super::moving::table::{Row, Table, by_form};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use varve_base::{Silent, Storage};
use varve_btree::NodeCache;
use varve_docdb::{DatabaseOptions, Loaded};
use varve_hgcli::arguments::{Flag, Matches};
use varve_hgcli::context::{Category, Command, Context};
use varve_hgcli::ui::{Abort, Ui};
use varve_replicate::{Head, ReplicateError, Restore, Watch};
use varve_server::couch::database::files::file_of;
use varve_server::couch::names::check_database_name;
use varve_server::directory::{DATABASES, OfflineDirectory};

/// Memory for nodes that are looked up; a load looks up none.
const CACHE: usize = 1 << 20;
/// Bytes that are read at once.
const BUFFER: usize = 256 << 10;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["load"],
    options: &[
        Flag::long_list("db", "NAME", "load this database only (can be repeated)"),
        Flag::long_flag(
            "skip-existing",
            "leave databases alone that are in DIR already",
        ),
    ],
    arguments: 1..=2,
    synopsis: "[OPTION]... FILE [DIR]",
    summary: "load databases from an export",
    help: "Makes the databases of an export (see 'varve help export') in DIR, a directory that 'varve serve' serves; \
           without DIR it is the current one, and - is the standard input. DIR must not be served meanwhile.\n\n\
           Each database comes whole or not at all; after an interruption, --skip-existing goes on with the next \
           one. A database that is in DIR already ends the load.\n\n\
           Ends with 0; with 1 if anything is left out.",
    category: Some(Category::Maintenance),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let [file, directory @ ..] = matches.arguments() else {
        return Err(COMMAND.usage_error("invalid arguments"));
    };
    let mut input: Box<dyn BufRead + Send> = match file.as_slice() {
        b"-" => {
            let input = context.ui.streams.input();
            Box::new(BufReader::with_capacity(BUFFER, input))
        }
        file => {
            let path = context.repo.cwd.join(moving::as_path(file));
            let opened = File::open(&path);
            let opened = opened
                .map_err(|error| Abort::new(format!("cannot open {}: {error}", path.display())))?;
            Box::new(BufReader::with_capacity(BUFFER, opened))
        }
    };
    let directory = directory
        .first()
        .map_or(Path::new("."), |it| moving::as_path(it));
    let target = OfflineDirectory::open(&context.repo.cwd.join(directory));
    let target = target.map_err(|error| Abort::new(error.to_string()))?;
    let mut wanted = moving::names(matches.list("db"));
    let is_chosen = !wanted.is_empty();
    let scratch = target.path.join(DATABASES);
    let mut restore = Restore::new(input.as_mut(), &scratch);
    let mut is_complete = true;
    let mut table = Table::of(["before", "all chunks after"]);
    let mut read = 0;
    while let Some(head) = restore
        .next_head()
        .map_err(|error| moving::abort(error, None))?
    {
        let position = wanted.iter().position(|name| *name == head.name);
        let is_wanted = !is_chosen || position.map(|at| wanted.swap_remove(at)).is_some();
        let is_there = target.storage.kind(&file_of(&head.name))?.is_some();
        let is_left_alone = is_wanted && is_there && matches.flag("skip-existing");
        if is_left_alone {
            let words = format!("{}: left alone: it is there already\n", head.name);
            context.ui.status(words)?;
        }
        if is_left_alone || !is_wanted {
            restore
                .skip()
                .map_err(|error| moving::abort(error, Some(&head.name)))?;
            read = restore.bytes_read();
            continue;
        }
        let (loaded, findings) = one(&mut context.ui, &mut restore, &head, &target)?;
        is_complete &= findings == 0;
        let bytes = restore.bytes_read();
        table.rows.push(row_of(&head.name, &loaded, bytes - read));
        read = bytes;
    }
    if let Some(name) = wanted.pop() {
        return Err(moving::abort(ReplicateError::NoSuchDatabase(name), None));
    }
    table.write(&mut context.ui)?;
    Ok(u8::from(!is_complete))
}

fn row_of(name: &str, loaded: &Loaded, bytes: u64) -> Row {
    Row {
        name: name.to_owned(),
        documents: loaded.documents,
        revisions: loaded.revisions,
        attachments: loaded.attachments,
        bytes_before: bytes,
        bytes_after: loaded.file_bytes,
        before: vec![("lines of JSON", bytes)],
        after: by_form(&loaded.chunks),
    }
}

/// Loads one database; also returns how many parts were left out.
fn one(
    ui: &mut Ui,
    restore: &mut Restore<'_>,
    head: &Head,
    target: &OfflineDirectory,
) -> Result<(Loaded, u64), Abort> {
    if let Err(refused) = check_database_name(&head.name) {
        return Err(Abort::new(refused.reason));
    }
    let options = DatabaseOptions::new(target.compression, NodeCache::new(CACHE));
    let progress = std::mem::replace(&mut ui.progress, Box::new(Silent));
    let stop = ui.stop.clone();
    let path = file_of(&head.name);
    let done = moving::with_lines(ui, |report| {
        let watch = Watch {
            progress: progress.as_ref(),
            stop: &stop,
            report,
        };
        restore.database(head, (&target.storage, &path), &options, watch)
    });
    ui.progress = progress;
    let (done, findings) = done?;
    let loaded = done.map_err(|error| moving::abort(error, Some(&head.name)))?;
    Ok((loaded, findings))
}

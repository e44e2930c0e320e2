//! `purge`: removes files that are not tracked, and empty directories.

use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches};
use crate::commands::extension_value;
use crate::context::{Category, Command, Context};
use crate::ui::{Abort, FailureKind, Ui};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use varve_workdir::{
    Dirstate, Status, StatusLists, StatusRequest, WorkdirError, matching_directories,
    working_status,
};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["purge", "clean"],
    options: &[
        Flag::flag(
            'a',
            "abort-on-err",
            "stop at the first that cannot be removed",
        ),
        Flag::long_flag("all", "remove ignored files too"),
        Flag::flag('i', "ignored", "remove ignored files only"),
        Flag::long_flag("dirs", "remove empty directories"),
        Flag::long_flag("files", "remove files"),
        Flag::flag('p', "print", "print the names and remove nothing"),
        Flag::flag(
            '0',
            "print0",
            "print the names, each with a zero byte behind it",
        ),
        Flag::long_flag("confirm", "ask before files are removed (the default)"),
        INCLUDE,
        EXCLUDE,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [DIR]...",
    summary: "remove files that are not tracked",
    help: "Removes unknown files and empty directories for good, after a question unless \
           --no-confirm is given. Tracked and added files stay, and ignored ones unless --all or -i \
           is given. With --dirs or --files alone, only directories or files are removed. Names and \
           patterns choose files and directories.\n\n\
           Ends with 0, also if something could not be removed and -a was not given.",
    category: Some(Category::WorkingDirectory),
    run,
};

/// How the names are printed, or that they are removed.
struct Purge<'a> {
    ui: &'a mut Ui,
    root: PathBuf,
    /// The byte behind each printed name; nothing is removed then.
    prints: Option<&'static [u8]>,
    aborts_on_error: bool,
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let (all, ignored) = (matches.flag("all"), matches.flag("ignored"));
    if all && ignored {
        return Err(Abort::input("cannot specify both --all and --ignored"));
    }
    let matcher = repo.working_matcher(matches, matches.arguments())?;
    let repository = repo.repository()?;
    let dirstate = Dirstate::read(&repository)?;
    repo.warn_of_missing_files(ui, &matcher, &dirstate)?;
    let ignore = repo.ignore(ui)?;
    let stop = ui.stop.clone();
    let request = StatusRequest {
        repository: &repository,
        dirstate: &dirstate,
        matcher: &matcher,
        ignore: &ignore,
        listing: StatusLists {
            unknown: !ignored,
            ignored: all || ignored,
            clean: false,
        },
        stop: &stop,
    };
    let status = working_status(&request)?.status;
    // Users of the old extension are used to a command that does not ask.
    let is_extension = extension_value(&config.values(), "purge").is_some_and(<[u8]>::is_empty);
    let asks = matches.switch("confirm").unwrap_or(!is_extension);
    if asks && !is_confirmed(ui, &status)? {
        return Err(Abort::of_kind(FailureKind::Canceled, "removal cancelled"));
    }
    let (files, directories) = (matches.flag("files"), matches.flag("dirs"));
    let mut purge = Purge {
        ui,
        root: repository.root().to_owned(),
        prints: match (matches.flag("print0"), matches.flag("print")) {
            (true, _) => Some(b"\0"),
            (_, true) => Some(b"\n"),
            _ => None,
        },
        aborts_on_error: matches.flag("abort-on-err"),
    };
    if files || !directories {
        let mut paths = [status.unknown, status.ignored].concat();
        paths.sort_unstable();
        for path in &paths {
            purge.remove("file", path, |path| std::fs::remove_file(path))?;
        }
    }
    if directories || !files {
        // Those below come before those that they may leave empty.
        for path in matching_directories(&request)?.iter().rev() {
            if purge.is_empty(path)? {
                purge.remove("directory", path, |path| std::fs::remove_dir(path))?;
            }
        }
    }
    Ok(0)
}

/// Whether the user wants the files to be removed; without files there is no question.
fn is_confirmed(ui: &mut Ui, status: &Status) -> Result<bool, Abort> {
    let what = match (status.unknown.len(), status.ignored.len()) {
        (0, 0) => return Ok(true),
        (unknown, 0) => format!("{unknown} unknown"),
        (0, ignored) => format!("{ignored} ignored"),
        (unknown, ignored) => format!("{unknown} unknown and {ignored} ignored"),
    };
    ui.confirm_removal(&format!("permanently delete {what} files?"))
}

impl Purge<'_> {
    fn on_disk(&self, path: &[u8]) -> PathBuf {
        self.root.join(OsStr::from_bytes(path))
    }

    fn is_empty(&self, directory: &[u8]) -> Result<bool, Abort> {
        let path = self.on_disk(directory);
        let mut names = std::fs::read_dir(&path).map_err(|error| Abort::file(&error, &path))?;
        Ok(names.next().is_none())
    }

    /// Prints a path, or removes what is there.
    fn remove(
        &mut self,
        kind: &str,
        path: &[u8],
        removal: fn(&Path) -> io::Result<()>,
    ) -> Result<(), Abort> {
        if let Some(end) = self.prints {
            return self.ui.write([path, end].concat());
        }
        self.ui
            .note([b"removing ", kind.as_bytes(), b" ", path, b"\n"].concat())?;
        self.ui.stop.check().map_err(WorkdirError::from)?;
        if removal(&self.on_disk(path)).is_ok() {
            return Ok(());
        }
        if self.aborts_on_error {
            let shown = String::from_utf8_lossy(path);
            return Err(Abort::new(format!("{shown} cannot be removed")));
        }
        self.ui
            .warn([b"warning: ", path, &b" cannot be removed\n"[..]].concat())
    }
}

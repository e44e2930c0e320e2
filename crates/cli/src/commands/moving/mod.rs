//! Progress, findings and failures of the commands that move databases.

pub(super) mod table;

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use varve_hgcli::ui::{Abort, Ui};
use varve_replicate::ReplicateError;

/// A path as it was typed.
pub(super) fn as_path(typed: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(typed))
}

pub(super) fn path_of(typed: &[u8]) -> PathBuf {
    as_path(typed).to_owned()
}

/// Names of databases as they were typed.
pub(super) fn names(typed: Vec<&[u8]>) -> Vec<String> {
    let typed = typed.into_iter();
    typed
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect()
}

/// Ends the command with an error about a database, if it is about one.
pub(super) fn abort(error: ReplicateError, database: Option<&str>) -> Abort {
    match error {
        ReplicateError::Interrupted => Abort::Stopped("interrupted!"),
        error => Abort::new(match database {
            Some(database) => format!("{database}: {error}"),
            None => error.to_string(),
        }),
    }
}

/// Lines that wait to be printed.
const WAITING: usize = 64;

/// Does something on a thread of its own; what it reports, on whatever thread, is printed, a line each. Also returns how
/// many came.
pub(super) fn with_lines<T: Send, L: Display + Send>(
    ui: &mut Ui,
    work: impl FnOnce(&(dyn Fn(L) + Sync)) -> T + Send,
) -> Result<(T, u64), Abort> {
    std::thread::scope(|scope| {
        let (sender, lines) = sync_channel(WAITING);
        let worker = scope.spawn(move || {
            work(&|line| {
                // The receiver stays until all senders are gone.
                let _ = sender.send(line);
            })
        });
        let (mut told, mut count) = (Ok(()), 0);
        for line in lines {
            count += 1;
            if told.is_ok() {
                // Also a pipe or a log has it at once.
                told = ui
                    .write(format!("{line}\n"))
                    .and_then(|()| Ok(ui.out.flush()?));
            }
        }
        let done = worker.join().map_err(|_| Abort::new("a thread has failed"));
        told?;
        Ok((done?, count))
    })
}

//! Messages about the hunks and the files of a patch.

use crate::ui::{Abort, Ui};
use varve_patch::PatchNotice;
use varve_workdir::{CheckedOut, PatchedChangeset, PatchedFiles, UpdateStats};

/// Prints one notice.
pub(crate) fn print_notice(ui: &mut Ui, notice: &PatchNotice<'_>) -> Result<(), Abort> {
    let with = |before: &str, path: &[u8], after: &str| {
        [before.as_bytes(), path, after.as_bytes()].concat()
    };
    match *notice {
        PatchNotice::File { path, is_needed } => {
            let line = with("patching file ", path, "\n");
            match (is_needed, ui.verbosity.verbose) {
                (true, false) => ui.warn(line),
                (true, true) => Ok(()),
                (false, _) => ui.note(line),
            }
        }
        PatchNotice::Missing { path } => {
            ui.warn(with("unable to find '", path, "' for patching\n"))?;
            ui.warn("(use '--prefix' to apply patch relative to the current directory)\n")
        }
        PatchNotice::Exists {
            path,
            is_copy: true,
        } => ui.warn(with(
            "cannot create ",
            path,
            ": destination already exists\n",
        )),
        PatchNotice::Exists { path, .. } => ui.warn(with("file ", path, " already exists\n")),
        PatchNotice::Moved {
            number,
            line,
            fuzz: 0,
            offset,
        } => ui.note(format!(
            "Hunk #{number} succeeded at {line} (offset {offset} lines).\n"
        )),
        PatchNotice::Moved {
            number,
            line,
            fuzz,
            offset,
        } => ui.warn(format!(
            "Hunk #{number} succeeded at {line} with fuzz {fuzz} (offset {offset} lines).\n"
        )),
        PatchNotice::Failed { number, line } => {
            ui.warn(format!("Hunk #{number} FAILED at {line}\n"))
        }
        PatchNotice::Rejects {
            path,
            rejected,
            hunks,
        } => {
            let count =
                format!("{rejected} out of {hunks} hunks FAILED -- saving rejects to file ");
            ui.warn(with(&count, path, ".rej\n"))
        }
    }
}

/// Prints which files are tracked now, and which are not.
pub(super) fn print_files(ui: &mut Ui, files: &PatchedFiles) -> Result<(), Abort> {
    for (source, path) in &files.uncommitted_sources {
        let line = [
            &source[..],
            b" has not been committed yet, so no copy data will be stored for ",
            path,
            b".\n",
        ];
        ui.warn(line.concat())?;
    }
    for path in &files.untracked {
        ui.warn([&path[..], b" not tracked!\n"].concat())?;
    }
    let added = files.added.iter().map(|path| (path, "adding "));
    let missing = files.missing.iter().map(|path| (path, "removing "));
    let mut lines: Vec<_> = added.chain(missing).collect();
    lines.sort_unstable();
    for (path, verb) in lines {
        ui.note([verb.as_bytes(), &path[..], b"\n"].concat())?;
    }
    for rename in &files.renames {
        let percent = (rename.score * 100.0) as u32;
        let similar = format!(" ({percent}% similar)\n");
        let line = [
            b"recording removal of ",
            &rename.from[..],
            b" as rename to ",
            &rename.to,
            similar.as_bytes(),
        ];
        ui.note(line.concat())?;
    }
    Ok(())
}

/// Prints the files of an update to the parent of a patch.
pub(super) fn print_checkout(ui: &mut Ui, files: &CheckedOut) -> Result<(), Abort> {
    ui.note("resolving manifests\n")?;
    for (verb, paths) in [("removing ", &files.removed), ("getting ", &files.written)] {
        for path in paths {
            ui.note([verb.as_bytes(), path, b"\n"].concat())?;
        }
    }
    let stats = UpdateStats {
        updated: files.written.len(),
        removed: files.removed.len(),
        ..UpdateStats::default()
    };
    crate::commands::local::update::print_stats(ui, &stats)
}

/// Prints the files of a changeset that is made without the working copy.
pub(super) fn print_changeset(ui: &mut Ui, changes: &PatchedChangeset) -> Result<(), Abort> {
    let files: Vec<&Vec<u8>> = changes.written().collect();
    crate::commands::local::commit::print_written(ui, &files)
}

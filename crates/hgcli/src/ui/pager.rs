//! Long output on a terminal goes through a pager.

use crate::ui::{Abort, Ui, environment};
use std::ffi::OsStr;
use std::io::{BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Stdio};

/// Commands whose output may be long.
const PAGED: &[&str] = &[
    "annotate",
    "bookmarks",
    "branches",
    "cat",
    "config",
    "diff",
    "files",
    "heads",
    "help",
    "log",
    "manifest",
    "paths",
    "status",
    "tags",
];

/// A pager that runs.
pub struct Pager(Child);

/// Starts the pager for the output of a command; `typed` is the value of `--pager`. Does so if the command, the terminal, the options and the configuration allow it.
pub fn start(ui: &mut Ui, command: &str, typed: Option<&[u8]>) -> Result<Option<Pager>, Abort> {
    let wanted = match typed {
        None | Some(b"auto") => ui
            .config
            .boolean("ui", "paginate", true)
            .map_err(Abort::from)?,
        // A value that is no boolean means always.
        Some(text) => varve_config::hgrc::boolean(text).unwrap_or(true),
    };
    let quiet_place = environment::is_plain(Some("pager")) || !ui.streams.has_terminal_output();
    if !wanted || quiet_place || ui.verbosity.debug || !PAGED.contains(&command) {
        return Ok(None);
    }
    let program = ui.config.get("pager", "pager").unwrap_or(b"less").to_vec();
    if program.is_empty() || program == b"cat" {
        return Ok(None);
    }
    let mut shell = std::process::Command::new("sh");
    shell
        .arg("-c")
        .arg(OsStr::from_bytes(&program))
        .stdin(Stdio::piped());
    if environment::variable("LESS").is_none() {
        shell.env("LESS", "FRX");
    }
    let Ok(mut child) = shell.spawn() else {
        return Ok(None);
    };
    if let Some(input) = child.stdin.take() {
        ui.out = BufWriter::new(Box::new(input));
    }
    Ok(Some(Pager(child)))
}

impl Pager {
    /// Ends the output and waits until the user has read it.
    pub fn finish(mut self, ui: &mut Ui) {
        // The user may have left before the end, and there is nothing to report.
        let _ = ui.out.flush();
        ui.out = BufWriter::new(ui.streams.out());
        let _ = self.0.wait();
    }
}

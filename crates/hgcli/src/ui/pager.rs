//! Long output on a terminal goes through a pager.

use crate::arguments::{Command, Matches};
use crate::context::Session;
use crate::ui::{Abort, environment};
use std::ffi::OsStr;
use std::io::{BufWriter, IsTerminal, Write, stdout};
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

/// Starts the pager if the command, the terminal, the options and the configuration allow it.
pub fn start(
    session: &mut Session,
    command: &Command,
    matches: &Matches,
) -> Result<Option<Pager>, Abort> {
    let wanted = match matches.value("pager") {
        None | Some(b"auto") => session
            .config
            .boolean("ui", "paginate", true)
            .map_err(Abort::from)?,
        // What is no boolean means what always means.
        Some(text) => varve_config::hgrc::boolean(text).unwrap_or(true),
    };
    let quiet_place = environment::is_plain(Some("pager")) || !stdout().is_terminal();
    if !wanted || quiet_place || session.verbosity.debug || !PAGED.contains(&command.name()) {
        return Ok(None);
    }
    let program = session
        .config
        .get("pager", "pager")
        .unwrap_or(b"less")
        .to_vec();
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
        session.out = BufWriter::new(Box::new(input));
    }
    Ok(Some(Pager(child)))
}

impl Pager {
    /// Ends the output and waits until the user has read it.
    pub fn finish(mut self, session: &mut Session) {
        // The user may have left before the end, and nothing is left to tell.
        let _ = session.out.flush();
        session.out = BufWriter::new(Box::new(stdout()));
        let _ = self.0.wait();
    }
}

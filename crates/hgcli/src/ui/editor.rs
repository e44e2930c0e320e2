//! The user's editor.

use crate::ui::{Abort, FailureKind, Ui};
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Runs the editor on a file, with `form` as `HGEDITFORM`; returns how it ended.
pub fn status(ui: &mut Ui, file: &Path, form: Option<&str>) -> Result<ExitStatus, Abort> {
    ui.out.flush()?;
    let editor = ui.editor();
    let line = [&editor[..], b" \"$1\""].concat();
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(OsStr::from_bytes(&line))
        .arg("sh")
        .arg(file);
    if let Some(form) = form {
        command.env("HGEDITFORM", form);
    }
    let ended = ui.streams.run(&mut command);
    ended.map_err(|error| Abort::file(&error, "sh"))
}

/// Lets the user change a file.
pub fn run(ui: &mut Ui, file: &Path, form: Option<&str>) -> Result<(), Abort> {
    let status = status(ui, file, form)?;
    if status.success() {
        return Ok(());
    }
    let editor = ui.editor();
    let first = editor
        .split(u8::is_ascii_whitespace)
        .next()
        .unwrap_or_default();
    let name = Path::new(OsStr::from_bytes(first))
        .file_name()
        .unwrap_or_default();
    let name = name.display();
    Err(match status.code() {
        Some(code) => Abort::of_kind(
            FailureKind::Canceled,
            format!("edit failed: {name} exited with status {code}"),
        ),
        None => Abort::of_kind(
            FailureKind::Canceled,
            format!("edit failed: {name} killed by signal"),
        ),
    })
}

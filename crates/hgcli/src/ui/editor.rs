//! The user's editor.

use crate::ui::{Abort, FailureKind, Ui, environment};
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Variables of the environment that an editor gets besides those of all programs.
#[derive(Clone, Copy, Debug, Default)]
pub struct EditorVariables<'a> {
    /// `HGEDITFORM`: the kind of text.
    pub form: Option<&'a str>,
    /// `HGUSER`: the author of the text.
    pub user: Option<&'a [u8]>,
}

/// Runs the editor on a file; returns how it ended.
pub fn status(
    ui: &mut Ui,
    file: &Path,
    variables: &EditorVariables<'_>,
) -> Result<ExitStatus, Abort> {
    ui.out.flush()?;
    let editor = ui.editor();
    let line = [&editor[..], b" \"$1\""].concat();
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(OsStr::from_bytes(&line))
        .arg("sh")
        .arg(file);
    environment::name_this_program(&mut command);
    if let Some(form) = variables.form {
        command.env("HGEDITFORM", form);
    }
    if let Some(user) = variables.user {
        command.env("HGUSER", OsStr::from_bytes(user));
    }
    let ended = ui.streams.run(&mut command);
    ended.map_err(|error| Abort::file(&error, "sh"))
}

/// Lets the user change a file; an editor that fails cancels what it was for.
pub fn run(ui: &mut Ui, file: &Path, variables: &EditorVariables<'_>) -> Result<(), Abort> {
    run_or_fail(ui, file, variables, FailureKind::Canceled)
}

/// The same, where the failure of an editor is of another kind.
pub(crate) fn run_or_fail(
    ui: &mut Ui,
    file: &Path,
    variables: &EditorVariables<'_>,
    kind: FailureKind,
) -> Result<(), Abort> {
    let status = status(ui, file, variables)?;
    if status.success() {
        return Ok(());
    }
    let editor = ui.editor();
    let first = editor
        .split(u8::is_ascii_whitespace)
        .next()
        .unwrap_or_default();
    let unquoted = [b'\'', b'"'].iter().find_map(|quote| {
        let inner = first.strip_prefix(std::slice::from_ref(quote))?;
        inner.strip_suffix(std::slice::from_ref(quote))
    });
    let name = OsStr::from_bytes(unquoted.unwrap_or(first)).display();
    let how = match status.code() {
        Some(code) => format!("exited with status {code}"),
        None => "killed by signal".to_owned(),
    };
    Err(Abort::of_kind(kind, format!("edit failed: {name} {how}")))
}

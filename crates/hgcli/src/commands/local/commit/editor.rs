//! Texts in the user's editor.

use crate::ui::editor::{self, EditorVariables};
use crate::ui::{Abort, Ui};
use std::io::Write;
use std::path::Path;
use std::process::ExitStatus;

/// Lets the user change a description.
pub(super) fn edit(
    ui: &mut Ui,
    text: &[u8],
    variables: &EditorVariables<'_>,
) -> Result<Vec<u8>, Abort> {
    edit_kind(ui, text, "commit", variables)
}

/// Lets the user change a text, in a file whose name has its `kind`, by which editors know its form.
pub(crate) fn edit_as(ui: &mut Ui, text: &[u8], kind: &str) -> Result<Vec<u8>, Abort> {
    let user = ui.username()?;
    let variables = EditorVariables {
        user: Some(&user),
        form: None,
    };
    edit_kind(ui, text, kind, &variables)
}

fn edit_kind(
    ui: &mut Ui,
    text: &[u8],
    kind: &str,
    variables: &EditorVariables<'_>,
) -> Result<Vec<u8>, Abort> {
    let (ended, edited) = edit_file(text, &format!("{kind}.hg.txt"), |path| {
        editor::run(ui, path, variables)
    })?;
    ended?;
    Ok(edited)
}

/// Lets the user change a patch; also returns how the editor ended.
pub(crate) fn edit_patch(ui: &mut Ui, text: &[u8]) -> Result<(ExitStatus, Vec<u8>), Abort> {
    let user = ui.username()?;
    let variables = EditorVariables {
        user: Some(&user),
        form: None,
    };
    let run = |path: &Path| editor::status(ui, path, &variables);
    let (ended, edited) = edit_file(text, "diff", run)?;
    Ok((ended?, edited))
}

/// The user of editors that the screen of changes runs: as in Mercurial, their variable names none.
const OF_SCREEN: EditorVariables<'static> = EditorVariables {
    user: Some(b""),
    form: None,
};

/// Lets the user change a hunk from the screen; also returns how the editor ended.
pub(super) fn edit_hunk(ui: &mut Ui, text: &[u8]) -> Result<(ExitStatus, Vec<u8>), Abort> {
    let run = |path: &Path| editor::status(ui, path, &OF_SCREEN);
    let (ended, edited) = edit_file(text, "diff", run)?;
    Ok((ended?, edited))
}

/// Lets the user change the whole patch from the screen.
pub(super) fn review_patch(ui: &mut Ui, text: &[u8]) -> Result<Vec<u8>, Abort> {
    let (ended, edited) = edit_file(text, "diff", |path| editor::run(ui, path, &OF_SCREEN))?;
    ended?;
    Ok(edited)
}

/// Lets the user write a description while changes are still being chosen.
pub(super) fn edit_early_description(ui: &mut Ui, text: &[u8]) -> Result<Vec<u8>, Abort> {
    let user = ui.username()?;
    let variables = EditorVariables {
        user: Some(&user),
        form: None,
    };
    let (ended, edited) = edit_file(text, "txt", |path| editor::run(ui, path, &variables))?;
    ended?;
    let lines = edited.split_inclusive(|byte| *byte == b'\n');
    Ok(lines
        .filter(|line| !line.starts_with(b"HG:"))
        .flatten()
        .copied()
        .collect())
}

/// Runs an editor on a file with this text; the end of its name tells the form.
fn edit_file<T>(
    text: &[u8],
    end: &str,
    run: impl FnOnce(&Path) -> T,
) -> Result<(T, Vec<u8>), Abort> {
    let directory = std::env::temp_dir();
    let path = directory.join(format!("hg-editor-{}.{end}", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let wrong = |error: std::io::Error| Abort::file(&error, &path);
    let mut file = options
        .write(true)
        .create_new(true)
        .open(&path)
        .map_err(wrong)?;
    file.write_all(text).map_err(wrong)?;
    drop(file);
    let ended = run(&path);
    let edited = std::fs::read(&path);
    let _ = std::fs::remove_file(&path);
    Ok((ended, edited.map_err(wrong)?))
}

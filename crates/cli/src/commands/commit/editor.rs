//! The user's editor.

use crate::face::{Abort, Session};
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

/// Lets the user change a text.
pub(super) fn edit(session: &mut Session, text: &[u8], user: &[u8]) -> Result<Vec<u8>, Abort> {
    session.out.flush()?;
    let folder = std::env::temp_dir();
    let path = folder.join(format!("hg-editor-{}.commit.hg.txt", std::process::id()));
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
    let editor = session.editor();
    let line = [&editor[..], b" \"$HG_EDITED_FILE\""].concat();
    let ended = Command::new("sh")
        .arg("-c")
        .arg(OsStr::from_bytes(&line))
        .env("HG_EDITED_FILE", &path)
        .env("HGUSER", OsStr::from_bytes(user))
        .current_dir(session.root()?)
        .status();
    let edited = std::fs::read(&path);
    let _ = std::fs::remove_file(&path);
    let name = editor
        .split(|byte| *byte == b' ')
        .next()
        .unwrap_or_default();
    let name =
        String::from_utf8_lossy(name.rsplit(|byte| *byte == b'/').next().unwrap_or_default());
    match ended.map_err(wrong)?.code() {
        Some(0) => edited.map_err(wrong),
        Some(code) => Err(Abort::new(format!(
            "edit failed: {name} exited with status {code}"
        ))),
        None => Err(Abort::new(format!("edit failed: {name} killed by signal"))),
    }
}

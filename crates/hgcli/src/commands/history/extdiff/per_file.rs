//! `--per-file`: the program runs for each file.

use super::snapshot::Copies;
use super::substitution::Substitutions;
use super::tools::DiffTool;
use super::{execute, shell};
use crate::context::Repo;
use crate::render::diff::DiffedFile;
use crate::ui::{Abort, Ui};
use std::os::unix::ffi::OsStrExt;
use std::process::Child;

/// The answers to the question, as `?` lists them.
const ANSWERS: &str =
    "y - yes, show diff\nn - no, skip this diff\ns - skip remaining diffs\n? - ? (display help)\n";

/// A program with windows of its own shows all files at once, unless each is asked about.
pub(super) fn show(
    ui: &mut Ui,
    repo: &Repo,
    (tool, copies, files): (&DiffTool, &Copies, &[DiffedFile]),
    asks: bool,
) -> Result<(), Abort> {
    let root = repo.root()?.as_os_str().as_bytes().to_vec();
    let mut running: Vec<Child> = Vec::new();
    for (at, file) in files.iter().enumerate() {
        if asks {
            match ask(ui, &repo.display_path(&file.path)?, (at + 1, files.len()))? {
                b'n' => continue,
                b's' => break,
                _ => {}
            }
        }
        let substitutions = Substitutions {
            parent: copies.place_of_one(&copies.before, file.old.is_some(), &file.path, true),
            child: copies.place_of_one(&copies.after, file.new.is_some(), &file.path, false),
            parent_label: copies.before.label_of(&file.path),
            child_label: copies.after.label_of(&file.path),
            root: root.clone(),
        };
        let line = substitutions.line(&tool.line);
        if tool.has_windows && !asks && !ui.streams.are_channels() {
            running.push(shell(&line, &copies.directory).spawn()?);
        } else {
            execute(ui, &line, &copies.directory)?;
        }
    }
    for mut program in running {
        program.wait()?;
    }
    Ok(())
}

fn ask(ui: &mut Ui, shown: &[u8], (number, count): (usize, usize)) -> Result<u8, Abort> {
    loop {
        let place = format!(" ({number} of {count}) [Yns?]");
        ui.print_question([b"diff ", shown, place.as_bytes()].concat())?;
        if !ui.is_interactive()? {
            ui.write("y\n")?;
            return Ok(b'y');
        }
        match &ui.read_answer(b"y")?.to_ascii_lowercase()[..] {
            [answer @ (b'y' | b'n' | b's')] => return Ok(*answer),
            b"?" => ui.write(ANSWERS)?,
            _ => ui.write("unrecognized response\n")?,
        }
    }
}

//! The programs that measurements run.

use crate::error::CliError;
use std::path::{Path, PathBuf};
use varve_bench::processes::{Program, find_program};

/// This program's own file.
pub(super) fn own() -> Result<PathBuf, CliError> {
    Ok(std::env::current_exe()?)
}

/// The file of another program. Varve by another name is none.
pub(super) fn other(named: &Path) -> Result<PathBuf, CliError> {
    let missing = || CliError::NoProgram {
        named: named.to_owned(),
    };
    let file = find_program(named).ok_or_else(missing)?;
    match file.canonicalize()? == own()?.canonicalize()? {
        true => Err(CliError::OwnProgram { file }),
        false => Ok(file),
    }
}

/// This program, and stock Mercurial if it is named.
pub(super) fn servers(hg: Option<&Path>) -> Result<Vec<Program>, CliError> {
    let mut programs = vec![Program::new("varve", own()?)];
    if let Some(hg) = hg {
        programs.push(Program::new("hg", other(hg)?));
    }
    Ok(programs)
}

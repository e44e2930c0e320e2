//! Programs that are run to their end.

use crate::BenchError;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

/// Arguments of one call.
pub(crate) type Words = Vec<OsString>;

/// Arguments of plain text.
pub(crate) fn words(texts: &[&str]) -> Words {
    texts.iter().map(OsString::from).collect()
}

/// The file of a program: a path, or a name that is looked for in `PATH`; `None` if it is not there.
pub fn find_program(named: &Path) -> Option<PathBuf> {
    if named.components().count() > 1 {
        return named.is_file().then(|| named.to_owned());
    }
    let directories = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&directories).map(|directory| directory.join(named));
    files.find(|file| file.is_file())
}

/// A program that is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name in tables.
    pub name: &'static str,
    /// Its file.
    pub file: PathBuf,
}

/// The same for every program: no configuration of the user, and a fixed author.
const ENVIRONMENT: [(&str, &str); 10] = [
    ("HGRCPATH", ""),
    ("HGPLAIN", "1"),
    ("HGUSER", "Bench <bench@example.org>"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_AUTHOR_NAME", "Bench"),
    ("GIT_AUTHOR_EMAIL", "bench@example.org"),
    ("GIT_COMMITTER_NAME", "Bench"),
    ("GIT_COMMITTER_EMAIL", "bench@example.org"),
    ("LC_ALL", "C.UTF-8"),
];

impl Program {
    /// A program of this name and file.
    pub fn new(name: &'static str, file: impl Into<PathBuf>) -> Program {
        Program {
            name,
            file: file.into(),
        }
    }

    /// A call in the common environment, with no input.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.file);
        command.envs(ENVIRONMENT).stdin(Stdio::null());
        command
    }

    /// Runs to the end; returns wall seconds, from before the process is made until it has ended.
    pub(crate) fn run(&self, words: &[OsString], directory: &Path) -> Result<f64, BenchError> {
        let mut command = self.command();
        command.args(words).current_dir(directory);
        command.stdout(Stdio::null());
        let start = Instant::now();
        let done = command.output().map_err(|error| self.cannot_run(&error))?;
        let seconds = start.elapsed().as_secs_f64();
        self.succeeded(words, &done)?;
        Ok(seconds)
    }

    /// Runs to the end; returns the standard output.
    pub(crate) fn output(
        &self,
        words: &[OsString],
        directory: &Path,
    ) -> Result<Vec<u8>, BenchError> {
        let mut command = self.command();
        let done = command.args(words).current_dir(directory).output();
        let done = done.map_err(|error| self.cannot_run(&error))?;
        self.succeeded(words, &done)?;
        Ok(done.stdout)
    }

    /// Runs to the end; returns false if it ends with this status.
    pub(crate) fn ends_otherwise(
        &self,
        status: i32,
        words: &[OsString],
        directory: &Path,
    ) -> Result<bool, BenchError> {
        let mut command = self.command();
        let done = command.args(words).current_dir(directory).output();
        let done = done.map_err(|error| self.cannot_run(&error))?;
        Ok(done.status.code() != Some(status))
    }

    pub(crate) fn cannot_run(&self, error: &std::io::Error) -> BenchError {
        BenchError::Program {
            program: self.file.clone(),
            reason: error.to_string(),
        }
    }

    /// Fails with the last lines that the program has printed, unless it ended with 0.
    pub(crate) fn succeeded(&self, words: &[OsString], done: &Output) -> Result<(), BenchError> {
        if done.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr);
        Err(BenchError::FailedCommand {
            command: self.call(words),
            reason: match said.trim() {
                "" => done.status.to_string(),
                said => said.to_owned(),
            },
        })
    }

    /// The call as a user would type it.
    pub(crate) fn call(&self, words: &[OsString]) -> String {
        let texts = words.iter().map(|word| OsStr::to_string_lossy(word));
        let texts: Vec<_> = texts.collect();
        format!("{} {}", self.name, texts.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_or_is_not_there_is_named_with_its_reason() {
        let here = Path::new(".");
        let shell = Program::new("sh", find_program(Path::new("sh")).unwrap());
        assert_eq!(find_program(Path::new("/bin/no-such-program")), None);
        assert_eq!(find_program(Path::new("no-such-program")), None);
        let printed = shell
            .output(&words(&["-c", "echo $HGPLAIN"]), here)
            .unwrap();
        assert_eq!(printed, b"1\n");
        assert!(shell.run(&words(&["-c", "exit 0"]), here).unwrap() > 0.0);
        let failed = shell.run(&words(&["-c", "echo no >&2; exit 3"]), here);
        let failed = failed.unwrap_err().to_string();
        assert!(failed.ends_with("exit 3' fails: no"), "{failed}");
        let silent = shell.output(&words(&["-c", "exit 3"]), here);
        assert!(silent.unwrap_err().to_string().contains("exit status: 3"));
        let missing = Program::new("hg", "/nonexistent/hg").run(&[], here);
        let missing = missing.unwrap_err().to_string();
        assert!(
            missing.starts_with("cannot run /nonexistent/hg: "),
            "{missing}"
        );
    }
}

//! Programs at a terminal, with keys that are typed.

use super::{Outcome, installed};
use std::io::Write;
use std::path::Path;
use std::process::Command;

const DRIVER: &[u8] = include_bytes!("pseudo_terminal.py");

/// A call of a program at a terminal of 24 rows and 80 columns.
#[derive(Clone, Debug)]
pub struct TerminalCall<'a> {
    /// Is shown before keys are typed.
    pub ready: &'a str,
    /// Keys, in pieces between commas; each is typed once nothing more comes.
    pub keys: &'a str,
    /// Names of signals between commas, which are sent then; `GONE` closes the terminal, without a signal.
    pub signals: &'a str,
}

/// The end of a [`TerminalCall`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalOutcome {
    /// Negative after a signal.
    pub code: i32,
    /// The terminal has its modes of before.
    pub is_restored: bool,
    /// A screen was opened, and each was closed.
    pub had_screen: bool,
    /// All that was shown without a screen, without colours.
    pub shown: String,
}

impl TerminalCall<'_> {
    /// Runs a program with arguments and variables in a directory.
    #[track_caller]
    pub fn run(
        &self,
        program: &Path,
        arguments: &[&str],
        directory: &Path,
        variables: &[(&str, &str)],
    ) -> TerminalOutcome {
        let mut driver = tempfile::NamedTempFile::new().unwrap();
        driver.write_all(DRIVER).unwrap();
        let python = installed("venv/bin/python");
        let mut command = Command::new(&python);
        command.arg("-B").arg(driver.path());
        command.args([self.ready, self.keys, self.signals]);
        command.arg(program).args(arguments).current_dir(directory);
        command.env_clear().envs(variables.iter().copied());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let said = Outcome::of(&mut command, &python).success();
        let mut lines = said.splitn(4, '\n');
        let mut line = || lines.next().unwrap_or_default();
        let code = line().parse().unwrap();
        TerminalOutcome {
            code,
            is_restored: line() == "True",
            had_screen: line() == "True True",
            shown: line().to_owned(),
        }
    }
}

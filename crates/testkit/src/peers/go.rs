//! The driver of the Go client, which `./test` has built.

use super::{Outcome, installed};
use std::process::Command;

/// Runs the driver of kivik. It gets `settings` as environment variables and must end with 0; returns what it printed.
#[track_caller]
pub fn run_kivik(settings: &[(&str, &str)]) -> String {
    let program = installed("kivik");
    let mut command = Command::new(&program);
    command.envs(settings.iter().copied());
    Outcome::of(&mut command, &program).success()
}

//! Scripts for Python that use clients of CouchDB and of Mercurial's command server.

use super::{Outcome, installed};
use std::path::Path;
use std::process::Command;

/// Runs a Python file that can import `ibmcloudant`, `couchdb` and `hglib`, and the files beside it. It gets `settings` as
/// environment variables and must end with 0; returns what it printed.
#[track_caller]
pub fn run_python(script: &Path, settings: &[(&str, &str)]) -> String {
    let program = installed("clients/bin/python");
    let mut command = Command::new(&program);
    // No byte code is left beside the scripts.
    command.arg("-B").arg(script).envs(settings.iter().copied());
    Outcome::of(&mut command, &program).success()
}

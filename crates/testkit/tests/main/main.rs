//! Checks of the source tree: tidiness, licences, layering. They run on the whole workspace.
#![allow(clippy::expect_used, reason = "what cannot be done fails the test")]

mod fuzz_targets;
mod layering;
mod repos;
mod rooms;
mod third_party;
mod tidy;
mod whole_context;
mod words;

use serde_json::Value;
use std::process::Command;
use varve_testkit::workspace_root;

fn cargo_metadata(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1"])
        .args(arguments)
        .current_dir(workspace_root())
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata: {said}");
    serde_json::from_slice(&output.stdout).expect("cargo writes JSON")
}

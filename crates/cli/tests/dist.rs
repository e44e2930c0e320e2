//! `./dist`: the stripped binary, its symbols, and the licences beside it.

use crate::VARVE;
use std::process::Command;
use varve_testkit::workspace_root;

#[test]
fn the_program_is_small_and_its_symbols_lie_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let split = Command::new(workspace_root().join("dist"))
        .arg("--split")
        .args([VARVE.as_ref(), directory.path()])
        .output()
        .unwrap();
    assert!(split.status.success(), "{split:?}");
    let program = directory.path().join("varve");
    let length = |path: &std::path::Path| std::fs::metadata(path).unwrap().len();
    let symbols = directory.path().join("varve.debug");
    assert!(length(&program) * 2 < length(VARVE.as_ref()));
    assert!(length(&symbols) > length(&program));
    let small = std::fs::read(&program).unwrap();
    let holds = |text: &[u8]| small.windows(text.len()).any(|window| window == text);
    assert!(holds(b".gnu_debuglink") && holds(b"varve.debug"));
    let version = Command::new(program).arg("--version").output().unwrap();
    assert!(version.status.success(), "{version:?}");
}

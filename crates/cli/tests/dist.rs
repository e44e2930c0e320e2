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
    // By how much depends on the debug information of the build, which a caller may have switched off.
    assert!(length(&program) < length(VARVE.as_ref()));
    let held = std::fs::read(&symbols).unwrap();
    assert!(held.windows(7).any(|name| name == b".symtab"));
    let small = std::fs::read(&program).unwrap();
    let holds = |text: &[u8]| small.windows(text.len()).any(|window| window == text);
    assert!(holds(b".gnu_debuglink") && holds(b"varve.debug") && !holds(b".symtab"));
    let version = Command::new(program).arg("--version").output().unwrap();
    assert!(version.status.success(), "{version:?}");
}

//! python-hglib does all it can, with both programs as its server.

use super::super::our_hg;
use std::path::Path;
use varve_testkit::peers::{hg_program, run_python};

#[test]
fn python_hglib_gets_from_both_programs_the_same() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python");
    let [theirs, ours] = [hg_program(), our_hg()].map(|program| {
        let root = tempfile::tempdir().unwrap();
        let settings = [
            ("PROGRAM", program.to_str().unwrap()),
            ("ROOT", root.path().to_str().unwrap()),
            ("HGRCPATH", "/dev/null"),
            ("HGUSER", "u"),
        ];
        run_python(&directory.join("hglib_client.py"), &settings)
    });
    assert!(ours.contains("== channels"));
    assert_eq!(ours, theirs);
}

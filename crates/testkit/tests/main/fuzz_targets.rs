use std::collections::BTreeSet;
use varve_testkit::tidy::{files, read};
use varve_testkit::workspace_root;

const FOLDER: &str = "fuzz_targets/";

/// Paths of the targets that a manifest lists.
fn listed(manifest: &str) -> BTreeSet<String> {
    let paths = manifest
        .lines()
        .filter_map(|line| line.strip_prefix("path = \""));
    let paths = paths.filter_map(|rest| rest.strip_suffix('"'));
    paths
        .filter(|path| path.starts_with(FOLDER))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_manifest_lists_every_fuzz_target_and_no_other() {
    let manifest = std::fs::read_to_string(workspace_root().join("fuzz/Cargo.toml")).unwrap();
    let present: BTreeSet<String> = files(&[".rs"])
        .iter()
        .filter_map(|path| path.strip_prefix("fuzz").ok())
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    assert_eq!(listed(&manifest), present);
}

/// The body of a target is a function of its crate, so that a plain test can run it too.
#[test]
fn every_fuzz_target_is_one_call_into_a_fuzzing_module() {
    for path in files(&[".rs"]) {
        if path.starts_with("fuzz") {
            let text = read(&path);
            assert!(text.contains("::fuzzing::"), "{}", path.display());
            assert!(text.lines().count() <= 6, "{}", path.display());
        }
    }
}

#[test]
fn targets_are_read_from_a_manifest() {
    let manifest =
        "[lib]\npath = \"src/lib.rs\"\n[[bin]]\nname = \"a\"\npath = \"fuzz_targets/a.rs\"\n";
    assert_eq!(
        listed(manifest),
        BTreeSet::from(["fuzz_targets/a.rs".to_owned()])
    );
}

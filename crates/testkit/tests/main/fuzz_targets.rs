use std::collections::BTreeSet;
use varve_testkit::tidy::{files, read};
use varve_testkit::workspace_root;

const DIRECTORY: &str = "fuzz_targets/";

/// Paths of the targets that a manifest lists.
fn listed(manifest: &str) -> BTreeSet<String> {
    let paths = manifest
        .lines()
        .filter_map(|line| line.strip_prefix("path = \""));
    let paths = paths.filter_map(|rest| rest.strip_suffix('"'));
    paths
        .filter(|path| path.starts_with(DIRECTORY))
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

/// Calls to the fuzzing functions that a crate's source file declares, such as
/// `varve_json::fuzzing::json(`.
fn declared(path: &str, text: &str) -> Vec<String> {
    let Some((name, _)) = path.strip_prefix("crates/").and_then(|p| p.split_once('/')) else {
        return Vec::new();
    };
    let own_file = path.ends_with("/fuzzing.rs");
    let text = if own_file {
        Some(text)
    } else {
        text.split_once("pub mod fuzzing {").map(|p| p.1)
    };
    let lines = text.unwrap_or_default().lines();
    let functions = lines.filter_map(|line| line.trim_start().strip_prefix("pub fn "));
    let functions = functions.filter_map(|rest| rest.split_once("(data: &[u8]) {"));
    functions
        .map(|(function, _)| format!("varve_{name}::fuzzing::{function}("))
        .collect()
}

#[test]
fn every_fuzzing_function_has_a_target() {
    let (targets, sources): (Vec<_>, Vec<_>) = files(&[".rs"])
        .into_iter()
        .partition(|path| path.starts_with("fuzz"));
    let targets: String = targets.iter().map(|path| read(path)).collect();
    let functions = sources
        .iter()
        .flat_map(|path| declared(path.to_str().unwrap(), &read(path)));
    let functions: Vec<String> = functions.collect();
    assert!(functions.len() > 5, "{functions:?}");
    for call in functions {
        assert!(targets.contains(&call), "no target calls {call}data)");
    }
}

#[test]
fn fuzzing_functions_are_found() {
    let text = "pub fn other(data: &[u8]) {\n}\npub mod fuzzing {\n    pub fn ini(data: &[u8]) {";
    assert_eq!(
        declared("crates/config/src/lib.rs", text),
        ["varve_config::fuzzing::ini("]
    );
    let text = "pub fn json(data: &[u8]) {\n}\nfn helper(data: &[u8]) {";
    assert_eq!(
        declared("crates/json/src/fuzzing.rs", text),
        ["varve_json::fuzzing::json("]
    );
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

use crate::cargo_metadata;
use serde_json::json;
use varve_testkit::third_party::{licence_texts, linked, notice};

#[test]
fn every_package_that_is_linked_is_in_the_notice() {
    let metadata = cargo_metadata(&["--locked"]);
    let packages = linked(&metadata, "varve-cli");
    assert!(packages.len() > 50, "only {} packages", packages.len());
    let notice = notice(&packages);
    for package in &packages {
        let line = format!("\n{}  {}  ", package.name, package.licence);
        assert!(notice.contains(&line), "{package:?}");
        assert!(!package.licence.is_empty(), "{package:?}");
    }
    let has = |name: &str| {
        packages
            .iter()
            .any(|package| package.name.starts_with(name))
    };
    assert!(has("hyper ") && has("rquickjs-sys ") && has("zstd-sys "));
    // Of this workspace, and for tests only.
    assert!(!has("varve-") && !has("proptest "), "{packages:?}");
    let without = packages
        .iter()
        .filter(|p| licence_texts(&p.sources).is_empty());
    let without: Vec<&str> = without.map(|package| package.name.as_str()).collect();
    assert!(
        without.len() * 10 < packages.len(),
        "without a text: {without:?}"
    );
    assert!(notice.contains("Permission is hereby granted"));
}

#[test]
fn what_only_builds_and_tests_use_is_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let package = |name: &str, source: Option<&str>| {
        let sources = directory.path().join(name);
        std::fs::create_dir_all(sources.join("c")).unwrap();
        std::fs::write(sources.join("c/COPYING"), "Free C.").unwrap();
        std::fs::write(sources.join("LICENSE-MIT"), "Free.\r\n").unwrap();
        std::fs::write(sources.join("README"), "No licence.").unwrap();
        json!({"id": name, "name": name, "version": "1.0.0", "license": "MIT", "source": source,
            "manifest_path": sources.join("Cargo.toml")})
    };
    let node = |name: &str, on: &[(&str, Option<&str>)]| {
        let on = on
            .iter()
            .map(|(name, kind)| json!({"pkg": name, "dep_kinds": [{"kind": kind}]}));
        json!({"id": name, "deps": on.collect::<Vec<_>>()})
    };
    let packages =
        ["a", "b", "for-tests", "for-builds"].map(|name| package(name, Some("registry")));
    let packages = [&packages[..], &[package("root", None)]].concat();
    let metadata = json!({
        "packages": packages,
        "resolve": {"nodes": [
            node("root", &[("b", None), ("for-tests", Some("dev"))]),
            node("b", &[("a", None), ("for-builds", Some("build"))]),
            node("a", &[("b", None)]),
            node("for-tests", &[]),
            node("for-builds", &[]),
        ]},
    });
    let linked = linked(&metadata, "root");
    let names: Vec<&str> = linked.iter().map(|package| package.name.as_str()).collect();
    assert_eq!(names, ["a 1.0.0", "b 1.0.0"]);
    let text = notice(&linked);
    assert!(
        text.contains("a 1.0.0, b 1.0.0:\n\nFree.\n") && !text.contains("No licence"),
        "{text}"
    );
}

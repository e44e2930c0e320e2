use super::cargo_metadata;
use serde_json::json;
use std::io::Write;
use std::path::Path;
use varve_testkit::tidy::{
    FILE_AIM, FILE_LIMIT, FUNCTION_LIMIT, broken_links, files, forbidden_licences, has_head,
    is_allowed, leftovers, links, long_functions, machine_paths, read, too_long,
};
use varve_testkit::workspace_root;

/// Endings of files that people write, and of programs without ending.
const WRITTEN: &[&str] = &[
    ".rs",
    ".py",
    ".js",
    ".sh",
    ".md",
    ".toml",
    ".ini",
    ".yml",
    "package.json",
    ".ci/run",
    "test",
];
/// Endings of files that programs write and that are kept.
const GENERATED: &[&str] = &[".html", ".svg", ".json", ".jsonl"];
const SOURCE: &[&str] = &[".rs", ".py", ".js", ".sh", ".ci/run", "test"];

/// Runs a rule over files and fails with all that it found.
fn check(endings: &[&str], rule: impl Fn(&Path, &str) -> Vec<String>) {
    let files = files(endings);
    assert!(!files.is_empty(), "no files end in {endings:?}");
    let found: Vec<String> = files
        .iter()
        .flat_map(|path| {
            let found = rule(path, &read(path));
            found
                .into_iter()
                .map(move |what| format!("{}: {what}", path.display()))
        })
        .collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn source_files_are_short() {
    check(SOURCE, |_, text| {
        let found = too_long(text).map(|n| format!("{n} lines, at most {FILE_LIMIT}"));
        found.into_iter().collect()
    });
    let all = files(SOURCE);
    let long = all
        .iter()
        .filter(|path| read(path).lines().count() > FILE_AIM)
        .count();
    let share = 100 * long / all.len();
    // Straight to the terminal: other output of a passing test is thrown away.
    let mut terminal = std::io::stderr();
    writeln!(
        terminal,
        "tidy: {long} of {} source files ({share} %) are over {FILE_AIM} lines",
        all.len()
    )
    .unwrap();
}

#[test]
fn functions_are_short() {
    check(&[".rs"], |_, text| {
        let found = long_functions(text).into_iter();
        found
            .map(|(name, n)| format!("{name} has {n} lines, at most {FUNCTION_LIMIT}"))
            .collect()
    });
}

#[test]
fn nothing_is_left_over() {
    check(WRITTEN, |_, text| {
        let found = leftovers(text).into_iter();
        found
            .map(|(line, mark)| format!("line {line}: {mark}"))
            .collect()
    });
}

#[test]
fn no_paths_of_one_machine() {
    check(&[WRITTEN, GENERATED].concat(), |_, text| {
        let found = machine_paths(text).into_iter();
        found
            .map(|(line, path)| format!("line {line}: {path}"))
            .collect()
    });
}

#[test]
fn every_crate_says_what_it_is() {
    let crates = ["src/lib.rs", "src/main.rs"];
    check(&crates, |_, text| {
        let missing = (!has_head(text)).then(|| "does not begin with //!".to_owned());
        missing.into_iter().collect()
    });
}

#[test]
fn markdown_links_lead_somewhere() {
    // There may be no Markdown yet in a new tree.
    for path in files(&[".md"]) {
        let directory = workspace_root().join(path.parent().unwrap());
        let broken = broken_links(&read(&path), &directory);
        assert!(broken.is_empty(), "{}: {broken:?}", path.display());
    }
}

#[test]
fn dependencies_have_allowed_licences() {
    let metadata = cargo_metadata(&["--locked"]);
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 50, "only {} packages", packages.len());
    assert_eq!(forbidden_licences(&metadata), Vec::<String>::new());
}

#[test]
fn long_files_and_functions_are_found() {
    assert_eq!(too_long(&"x\n".repeat(FILE_LIMIT)), None);
    assert_eq!(
        too_long(&"x\n".repeat(FILE_LIMIT + 1)),
        Some(FILE_LIMIT + 1)
    );
    let function = |lines: usize| {
        let body = "        a();\n\n        // why\n".repeat(lines);
        format!("impl X {{\n    pub fn long(\n        &self,\n    ) {{\n{body}    }}\n}}\n")
    };
    assert_eq!(long_functions(&function(FUNCTION_LIMIT)), []);
    let long = FUNCTION_LIMIT + 1;
    assert_eq!(long_functions(&function(long)), [("long".to_owned(), long)]);
}

#[test]
fn leftovers_and_machine_paths_are_found() {
    let mark = concat!("TO", "DO");
    assert_eq!(leftovers(&format!("a\n// {mark}: later\n")), [(2, mark)]);
    let ignored = concat!("#[ign", "ore");
    assert_eq!(leftovers(&format!("{ignored} = \"slow\"]")), [(1, ignored)]);
    assert_eq!(leftovers(&format!("a{mark}S ME{mark}")), []);
    let path = concat!("/ho", "me/");
    assert_eq!(machine_paths(&format!("see {path}ada/x")), [(1, path)]);
    assert_eq!(machine_paths("https://example.org/homeward"), []);
}

#[test]
fn missing_heads_and_broken_links_are_found() {
    assert!(has_head("//! What it is.\n") && !has_head("use std::io;\n"));
    let text =
        "[a](there.md#part) [b](https://x.org) `[c](code)` [`d`](gone.md)\n```\n[e](f)\n```\n";
    assert_eq!(links(text), ["there.md#part", "https://x.org", "gone.md"]);
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("there.md"), "").unwrap();
    assert_eq!(broken_links(text, directory.path()), ["gone.md"]);
}

#[test]
fn licences_are_judged_by_their_expressions() {
    for allowed in [
        "MIT",
        "MIT/Apache-2.0",
        "GPL-3.0 OR MIT",
        "(MIT OR GPL-3.0) AND ISC",
    ] {
        assert!(is_allowed(allowed), "{allowed}");
    }
    for refused in [
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT",
        "",
        "MIT WITH Odd-exception",
        "MIT MIT",
    ] {
        assert!(!is_allowed(refused), "{refused}");
    }
    let metadata = json!({"packages": [{"name": "a", "license": "MIT"}, {"name": "b"}]});
    assert_eq!(forbidden_licences(&metadata), ["b: none"]);
}

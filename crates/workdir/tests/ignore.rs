//! Ignore files against a naive matcher of globs.

use proptest::prelude::*;
use std::path::PathBuf;
use varve_workdir::{Ignore, IgnoreFiles};

/// Compiles a text as `.hgignore`.
fn ignore(text: &str) -> Ignore {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(".hgignore"), text).unwrap();
    IgnoreFiles::read(directory.path(), &[]).unwrap().ignore
}

/// Whether a glob matches a whole text, one byte after the other.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        ([b'*', b'*', rest @ ..], _) => (0..=text.len()).any(|at| glob(rest, &text[at..])),
        ([b'*', rest @ ..], _) => {
            let name = text.iter().take_while(|byte| **byte != b'/').count();
            (0..=name).any(|at| glob(rest, &text[at..]))
        }
        ([b'?', rest @ ..], [_, behind @ ..]) => glob(rest, behind),
        ([letter, rest @ ..], [byte, behind @ ..]) => letter == byte && glob(rest, behind),
        _ => false,
    }
}

/// The path and all directories above it.
fn above(path: &str) -> Vec<&str> {
    let slashes = path.match_indices('/').map(|(at, _)| &path[..at]);
    slashes.chain([path]).collect()
}

/// The parts of a path that begin at a name.
fn tails(path: &str) -> Vec<&str> {
    let slashes = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
    [path].into_iter().chain(slashes).collect()
}

fn paths() -> impl Strategy<Value = String> {
    "[ab]{1,2}(/[ab.]{1,2}){0,3}".prop_filter("no names of dots", |path| {
        path.split('/')
            .all(|name| !name.trim_matches('.').is_empty())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_glob_ignores_what_it_matches_anywhere_and_all_below(
        // Three stars in a row read as two and one, or as one and two.
        pattern in "[ab](\\*\\*|[ab/.?*]){0,4}".prop_filter("one reading", |p| !p.contains("***")),
        paths in proptest::collection::vec(paths(), 12),
    ) {
        // Mercurial folds names that are empty or dots before it compiles a pattern.
        prop_assume!(pattern.split('/').all(|name| !name.trim_matches('.').is_empty()));
        prop_assume!(!pattern.contains("**/"));
        let (anywhere, rooted) = (
            ignore(&format!("syntax: glob\n{pattern}\n")),
            ignore(&format!("rootglob:{pattern}\n")),
        );
        for path in paths {
            let matches = |text: &&str| glob(pattern.as_bytes(), text.as_bytes());
            let found = above(&path).into_iter().any(|path| tails(path).iter().any(matches));
            let shown = format!("{pattern} {path}");
            prop_assert_eq!(anywhere.matches_from_above(path.as_bytes()), found, "{}", shown);
            let found = above(&path).iter().any(matches);
            prop_assert_eq!(rooted.matches_from_above(path.as_bytes()), found, "{}", shown);
        }
    }

    #[test]
    fn several_lines_ignore_what_any_of_them_ignores(
        names in proptest::collection::vec("[ab]{1,2}", 1..5),
        paths in proptest::collection::vec(paths(), 8),
    ) {
        let all = ignore(&format!("syntax: glob\n{}\n", names.join("\n")));
        let each: Vec<Ignore> = names.iter().map(|name| ignore(&format!("glob:{name}\n"))).collect();
        for path in paths {
            let path = path.as_bytes();
            let any = each.iter().any(|one| one.matches_from_above(path));
            prop_assert_eq!(all.matches_from_above(path), any);
        }
    }

    #[test]
    fn a_subinclude_is_confined_to_its_directory(paths in proptest::collection::vec(paths(), 12)) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("a")).unwrap();
        std::fs::write(directory.path().join(".hgignore"), "subinclude:a/.hgignore\n").unwrap();
        std::fs::write(directory.path().join("a/.hgignore"), "glob:b\n").unwrap();
        let found = IgnoreFiles::read(directory.path(), &[]).unwrap().ignore;
        for path in paths {
            let inside = path.strip_prefix("a/");
            let expected = inside.is_some_and(|path| path.split('/').any(|name| name == "b"));
            prop_assert_eq!(found.matches_from_above(path.as_bytes()), expected, "{}", path);
        }
    }
}

#[test]
fn further_files_add_to_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let further: PathBuf = directory.path().join("further");
    std::fs::write(directory.path().join(".hgignore"), "^a$\n").unwrap();
    std::fs::write(&further, "^b$\n").unwrap();
    let missing = directory.path().join("missing");
    let files = IgnoreFiles::read(directory.path(), &[further, missing]).unwrap();
    for (path, expected) in [("a", true), ("b", true), ("c", false), ("a/b", false)] {
        assert_eq!(files.ignore.matches(path.as_bytes()), expected, "{path}");
    }
    assert_eq!(files.warnings.len(), 1, "{:?}", files.warnings);
    assert!(
        files.warnings[0].contains("missing"),
        "{:?}",
        files.warnings
    );
}

#[test]
fn without_files_nothing_is_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let files = IgnoreFiles::read(directory.path(), &[]).unwrap();
    assert!(!files.ignore.matches(b"a") && files.warnings.is_empty());
}

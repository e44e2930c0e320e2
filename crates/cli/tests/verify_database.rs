//! `varve verify FILE`: damage in a database's file, and the data that it hits.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use varve_base::DiskStorage;
use varve_btree::NodeCache;
use varve_codec::EngineSetting;
use varve_docdb::{Database, DatabaseOptions, Edit, Mode};

const NAME: &str = "some.varve";

/// A database of five documents, one of which has a text that can be found in the file.
fn make(directory: &Path) {
    let options = DatabaseOptions::new(EngineSetting::NONE, NodeCache::new(0));
    let storage = Arc::new(DiskStorage::new(directory));
    let db = Database::create(storage, Path::new(NAME), &options).unwrap();
    for number in 0..5 {
        let text = format!(r#"{{"_id":"doc-{number}","text":"needle {number}"}}"#);
        let edit = Edit::parse(None, text.as_bytes()).unwrap();
        db.update_one(edit, Mode::Interactive).unwrap().unwrap();
    }
}

fn damage(directory: &Path, text: &str) {
    let path = directory.join(NAME);
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes
        .windows(text.len())
        .position(|part| part == text.as_bytes());
    bytes[at.unwrap()] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

fn varve(directory: &Path, arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_varve");
    Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8(both).unwrap()
}

#[test]
fn a_whole_file_is_counted() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path());
    let done = varve(directory.path(), &["verify", NAME]);
    let words = said(&done);
    assert_eq!(done.status.code(), Some(0), "{words}");
    let first = "checked 5 documents with 5 revisions and 5 bodies, 0 attachments, 0 local documents, 0 purges\n";
    let rest = words
        .strip_prefix(first)
        .unwrap_or_else(|| panic!("{words}"));
    assert!(
        rest.starts_with("none: 7 chunks, ") && rest.lines().count() == 1,
        "{words}"
    );
    assert_eq!(said(&varve(directory.path(), &["verify", "-q", NAME])), "");
}

#[test]
fn damage_is_told_with_the_document_it_hits() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path());
    damage(directory.path(), "needle 2");
    let done = varve(directory.path(), &["verify", NAME]);
    let words = said(&done);
    assert_eq!(done.status.code(), Some(1), "{words}");
    let first = words.lines().next().unwrap();
    assert!(first.starts_with("body \"doc-2\" 1-"), "{words}");
    assert!(
        first.ends_with(": a chunk's checksum does not match"),
        "{words}"
    );
    assert!(
        words.ends_with("\n1 findings\n") && words.contains("and 4 bodies"),
        "{words}"
    );
}

#[test]
fn what_can_be_read_goes_into_a_new_file() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path());
    damage(directory.path(), "needle 2");
    let done = varve(
        directory.path(),
        &["verify", NAME, "--salvage", "new.varve"],
    );
    let words = said(&done);
    assert_eq!(done.status.code(), Some(1), "{words}");
    let rest = words.split_once("\n1 findings\n").unwrap().1;
    let lines: Vec<_> = rest.lines().collect();
    assert!(lines[0].starts_with("body \"doc-2\" 1-"), "{words}");
    assert!(
        lines[0].ends_with(": left out: a chunk's checksum does not match"),
        "{words}"
    );
    let expected = [
        "document \"doc-2\": left out: none of its revisions can be read",
        "wrote 4 documents with 4 leaves, 0 attachments, 0 local documents to 'new.varve'",
    ];
    assert_eq!(lines[1..], expected);
    let whole = varve(directory.path(), &["verify", "new.varve"]);
    assert_eq!(whole.status.code(), Some(0), "{}", said(&whole));
    let again = varve(
        directory.path(),
        &["verify", "new.varve", "--salvage", NAME],
    );
    assert_eq!(again.status.code(), Some(255));
    assert!(
        said(&again).contains("abort: cannot create some.varve: "),
        "{}",
        said(&again)
    );
    let mut names: Vec<_> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["new.varve", NAME]);
}

#[test]
fn what_is_no_database_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("text"), "varved but not a file of it").unwrap();
    std::fs::write(directory.path().join("empty"), "").unwrap();
    for (arguments, words) in [
        (
            &["verify", "text"][..],
            "abort: 'text' is no database\n(expected the file of a database (NAME.varve), a repository, or a directory \
             that Varve serves)\n",
        ),
        (
            &["verify", "."],
            "abort: '.' is neither a repository nor a directory that Varve serves\n\
             (expected .hg in it, or databases or repos, or the file of a database (NAME.varve))\n",
        ),
        (
            &["verify", "none"],
            "abort: there is no file or directory none\n",
        ),
        (
            &["verify", "--salvage", "new"],
            "abort: --salvage is for the file of a database\n",
        ),
        (
            &["verify", "--cut-off", "."],
            "abort: '.' is neither a repository nor a directory that Varve serves\n\
             (expected .hg in it, or databases or repos, or the file of a database (NAME.varve))\n",
        ),
    ] {
        let done = varve(directory.path(), arguments);
        assert_eq!(
            (done.status.code(), said(&done).as_str()),
            (Some(255), words)
        );
    }
    let done = varve(directory.path(), &["verify", "empty"]);
    assert_eq!(done.status.code(), Some(255));
    assert!(said(&done).starts_with("abort: 'empty' is no database\n"));
}

#[test]
fn a_path_is_told_apart_by_what_is_there() {
    let served = tempfile::tempdir().unwrap();
    let top = served.path();
    for directory in ["databases", "repos/team/one", "repos/two"] {
        std::fs::create_dir_all(top.join(directory)).unwrap();
    }
    make(&top.join("databases"));
    for repository in ["repos/team/one", "repos/two"] {
        assert!(varve(top, &["init", repository]).status.success());
    }
    let whole = "checked 5 documents";
    let one = said(&varve(top, &["verify", "databases/some"]));
    assert!(one.starts_with(whole), "{one}");
    let refused = varve(top, &["verify", "--full", "databases/some"]);
    assert_eq!(said(&refused), "abort: --full is for repositories\n");
    let one = varve(top, &["verify", "repos/two"]);
    let verified = said(&one);
    assert_eq!(one.status.code(), Some(0), "{verified}");
    assert!(verified.starts_with("checking changesets\n"), "{verified}");
    let refused = varve(top, &["verify", "--salvage", "new", "repos/two"]);
    assert_eq!(
        said(&refused),
        "abort: --salvage is for the file of a database\n"
    );
    let all = varve(top, &["verify", "."]);
    let words = said(&all);
    assert_eq!(all.status.code(), Some(0), "{words}");
    let titles = words.lines().filter(|line| line.starts_with("./"));
    assert_eq!(
        titles.collect::<Vec<_>>(),
        [
            "./databases/some.varve:",
            "./repos/team/one:",
            "./repos/two:"
        ]
    );
    assert_eq!(words.matches(whole).count(), 1);
    assert_eq!(words.matches("checking changesets\n").count(), 2);
    damage(&top.join("databases"), "needle 2");
    assert_eq!(varve(top, &["verify", "."]).status.code(), Some(1));
}

#[test]
fn what_cannot_be_opened_does_not_keep_the_rest_of_a_directory_from_being_verified() {
    let served = tempfile::tempdir().unwrap();
    let top = served.path();
    for directory in ["databases", "repos/broken", "repos/whole/nested"] {
        std::fs::create_dir_all(top.join(directory)).unwrap();
    }
    make(&top.join("databases"));
    std::fs::write(top.join("databases/a.varve"), "no database").unwrap();
    for repository in ["repos/broken", "repos/whole", "repos/whole/nested"] {
        assert!(varve(top, &["init", repository]).status.success());
    }
    std::fs::write(top.join("repos/broken/.hg/requires"), "unheard-of\n").unwrap();
    let all = varve(top, &["verify", "."]);
    let words = said(&all);
    assert_eq!(all.status.code(), Some(1), "{words}");
    let begins = [
        (
            "databases/a.varve:\n",
            "abort: './databases/a.varve' is no database\n",
        ),
        ("databases/some.varve:\n", "checked 5 documents"),
        (
            "repos/broken:\n",
            "abort: repository requires features unknown to",
        ),
        ("repos/whole:\n", "checking changesets\n"),
        ("repos/whole/nested:\n", "checking changesets\n"),
    ];
    let mut rest = words.as_str();
    for (title, then) in begins {
        let at = rest.find(&format!("{title}{then}"));
        let at = at.unwrap_or_else(|| panic!("{title}{then} in {words}"));
        rest = &rest[at + title.len()..];
    }
}

#[test]
fn a_write_that_a_kill_cut_short_is_told_and_no_finding() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path());
    let path = directory.path().join(NAME);
    let mut bytes = std::fs::read(&path).unwrap();
    let whole = bytes.len();
    bytes.extend([7; 1000]);
    std::fs::write(&path, &bytes).unwrap();
    let done = varve(directory.path(), &["verify", NAME]);
    let words = said(&done);
    assert_eq!(done.status.code(), Some(0), "{words}");
    let line = "the last 1000 bytes are of a write that was cut short and never acknowledged";
    assert!(words.contains(line), "{words}");
    let done = varve(directory.path(), &["verify", NAME, "--cut-off"]);
    let words = said(&done);
    assert_eq!(done.status.code(), Some(0), "{words}");
    assert!(words.contains("cut off 1000 bytes"), "{words}");
    assert_eq!(std::fs::read(&path).unwrap().len(), whole);
    let done = varve(directory.path(), &["verify", "--cut-off"]);
    assert_eq!(done.status.code(), Some(255));
    assert_eq!(
        said(&done),
        "abort: --cut-off is for the file of a database\n"
    );
}

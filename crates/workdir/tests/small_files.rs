//! The branch, the active bookmark, and paths that must not be followed.

use super::model::WorkingCopy;
use std::os::unix::fs::symlink;
use varve_lang::patterns::PathCheck;
use varve_repo::FileKind;
use varve_workdir::{
    PathAuditor, RenameCandidate, WorkingFiles, active_bookmark, branch, detect_renames,
    set_active_bookmark, set_branch,
};

#[test]
fn the_branch_is_default_until_it_is_set() {
    let copy = WorkingCopy::new();
    assert_eq!(branch(&copy.repository).unwrap(), b"default");
    set_branch(&copy.repository, b"a branch").unwrap();
    assert_eq!(branch(&copy.repository).unwrap(), b"a branch");
    assert_eq!(
        std::fs::read(copy.path(".hg/branch")).unwrap(),
        b"a branch\n"
    );
    std::fs::write(copy.path(".hg/branch"), "  \n").unwrap();
    assert_eq!(branch(&copy.repository).unwrap(), b"default");
}

#[test]
fn the_active_bookmark_is_set_and_cleared() {
    let copy = WorkingCopy::new();
    assert_eq!(active_bookmark(&copy.repository).unwrap(), None);
    set_active_bookmark(&copy.repository, None).unwrap();
    for name in [&b"book"[..], b"other"] {
        set_active_bookmark(&copy.repository, Some(name)).unwrap();
        assert_eq!(
            active_bookmark(&copy.repository).unwrap().as_deref(),
            Some(name)
        );
    }
    set_active_bookmark(&copy.repository, None).unwrap();
    assert_eq!(active_bookmark(&copy.repository).unwrap(), None);
    assert!(!copy.path(".hg/bookmarks.current").exists());
}

#[test]
fn paths_through_links_and_repositories_are_refused() {
    let copy = WorkingCopy::new();
    std::fs::create_dir_all(copy.path("d/nested/.hg")).unwrap();
    std::fs::create_dir_all(copy.path("plain")).unwrap();
    symlink("/tmp", copy.path("link")).unwrap();
    let auditor = PathAuditor::new(copy.directory.path());
    for path in ["a", "plain/a", "plain/x/y", "link", "d/nested"] {
        auditor.check(path.as_bytes()).unwrap();
    }
    for (path, message) in [
        ("link/a", "path 'link/a' traverses symbolic link 'link'"),
        (
            "d/nested/a",
            "path 'd/nested/a' is inside nested repo 'd/nested'",
        ),
        (".hg/hgrc", "path contains illegal component: .hg/hgrc"),
        ("a/.HG/x", "path 'a/.HG/x' is inside nested repo 'a'"),
        ("../x", "path contains illegal component: ../x"),
        (
            "plain/../../x",
            "path contains illegal component: plain/../../x",
        ),
        (
            "/etc/passwd",
            "path contains illegal component: /etc/passwd",
        ),
    ] {
        let error = auditor.check(path.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn files_are_written_whole_with_their_kind() {
    let copy = WorkingCopy::new();
    let files = WorkingFiles::new(copy.directory.path());
    for (path, content, kind) in [
        ("a", &b"plain"[..], FileKind::Plain),
        ("a", b"shorter".get(..3).unwrap(), FileKind::Executable),
        ("a", b"target", FileKind::Symlink),
        ("a", b"plain again", FileKind::Plain),
        ("d/e/f", b"", FileKind::Plain),
    ] {
        files.make_directories(path.as_bytes()).unwrap();
        let stat = files.write(path.as_bytes(), content, kind).unwrap();
        let (read, found) = files.read(path.as_bytes()).unwrap();
        assert_eq!((&read[..], found), (content, kind));
        assert_eq!(stat.size, content.len() as u64);
        assert_eq!(files.stat(path.as_bytes()).unwrap(), Some(stat));
    }
    assert_eq!(files.stat(b"missing").unwrap(), None);
    assert_eq!(files.stat(b"d").unwrap(), None, "a directory is no file");
    assert_eq!(
        files.stat(b"a/below").unwrap(),
        None,
        "a file is no directory"
    );
}

#[test]
fn removing_the_last_file_removes_its_directories() {
    let copy = WorkingCopy::new();
    let files = WorkingFiles::new(copy.directory.path());
    for path in ["d/e/a", "d/b"] {
        copy.write(path, &(b"x".to_vec(), FileKind::Plain));
    }
    files.remove(b"d/e/a").unwrap();
    assert!(!copy.path("d/e").exists() && copy.path("d/b").exists());
    files.remove(b"d/b").unwrap();
    assert!(!copy.path("d").exists() && copy.directory.path().exists());
}

#[test]
fn renames_are_found_by_content() {
    let file = |path: &str, content: &str| RenameCandidate {
        path: path.into(),
        content: content.into(),
    };
    let removed = [
        file("a", "1\n2\n3\n4\n"),
        file("b", "x\ny\n"),
        file("empty", ""),
    ];
    let added = [
        file("c", "x\ny\n"),
        file("d", "1\n2\n3\nfour\n"),
        file("e", "else\n"),
        file("f", ""),
    ];
    let pairs = |least: f64| {
        let found = detect_renames(&removed, &added, least);
        let names = found.into_iter().map(|rename| {
            assert!(rename.score >= least && rename.score <= 1.0, "{rename:?}");
            let name = |path: Vec<u8>| String::from_utf8(path).unwrap();
            (name(rename.from), name(rename.to))
        });
        names.collect::<Vec<_>>()
    };
    let same = ("b".to_owned(), "c".to_owned());
    assert_eq!(pairs(1.0), std::slice::from_ref(&same));
    assert_eq!(pairs(0.5), [same, ("a".to_owned(), "d".to_owned())]);
}

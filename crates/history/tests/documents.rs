//! The schema of the documents.

use crate::history::{History, plain, write};
use varve_base::Interrupt;
use varve_history::{HistorySettings, differences};
use varve_repo::{FileChange, FileKind, NewChangeset, Node};

/// The document of a file whose name is no UTF-8.
const ODD: &str = "file/b\u{fffd} 62ff";

/// Three changesets: files are added, then copied, changed and removed, then a merge that closes its branch.
fn three() -> (History, [Node; 4]) {
    let history = History::new();
    let first = history.commit_one(&NewChangeset {
        description: "Begin\n\nwith s\u{e9}diment".as_bytes(),
        date: (1_795_234_214, -3600),
        changes: &[write("a", "1\n2\n3\n"), write("src/gone", "x")],
        ..plain()
    });
    let copy = FileChange::Write {
        path: b"src/copy",
        content: b"1\n2\n3\n4\n",
        kind: FileKind::Executable,
        copied_from: Some(b"a"),
    };
    let second = history.commit_one(&NewChangeset {
        parents: [first, Node::NULL],
        user: b"bob@example.org",
        branch: b"stable",
        extras: &[(b"source", b"abc\xff")],
        description: b"Copy",
        changes: &[
            copy,
            write("a", "1\n3\nfour"),
            FileChange::Remove { path: b"src/gone" },
        ],
        ..plain()
    });
    let other = history.commit_one(&NewChangeset {
        parents: [first, Node::NULL],
        description: b"Other",
        changes: &[FileChange::Write {
            path: b"b\xff",
            content: b"b",
            kind: FileKind::Plain,
            copied_from: None,
        }],
        ..plain()
    });
    let merge = history.commit_one(&NewChangeset {
        parents: [other, second],
        branch: b"stable",
        extras: &[(b"close", b"1")],
        description: b"Merge",
        changes: &[
            write("a", "1\n3\nfive"),
            FileChange::Write {
                path: b"src/copy",
                content: b"1\n2\n3\n4\n",
                kind: FileKind::Executable,
                copied_from: None,
            },
            FileChange::Remove { path: b"src/gone" },
        ],
        ..plain()
    });
    (history, [first, second, other, merge])
}

#[test]
fn changesets_are_documents() {
    let (history, [first, second, other, merge]) = three();
    history.synchronize();
    let text = &history.documents()[&first.to_string()];
    assert_eq!(
        text,
        "{\"type\":\"changeset\",\"rev\":0,\"phase\":\"public\",\"author\":{\"name\":\"Ada\",\"email\":\"ada@example.org\"},\
         \"date\":\"2026-11-21T05:10:14+01:00\",\"seconds\":1795234214,\"branch\":\"default\",\"parents\":[],\
         \"description\":\"Begin\\n\\nwith s\u{e9}diment\",\"summary\":\"Begin\",\
         \"files\":{\"added\":[\"a\",\"src/gone\"],\"modified\":[],\"removed\":[],\"copied\":[]},\
         \"extra\":{},\"closes_branch\":false}"
    );
    let member = |id: Node, path: &[&str]| history.member(id, path);
    assert_eq!(
        member(second, &["files"]),
        "{\"added\":[\"src/copy\"],\"modified\":[\"a\"],\"removed\":[\"src/gone\"],\
         \"copied\":[{\"path\":\"src/copy\",\"from\":\"a\"}]}"
    );
    assert_eq!(member(second, &["extra"]), "{\"source\":\"abc\u{fffd}\"}");
    assert_eq!(member(second, &["author", "name"]), "\"bob\"");
    assert_eq!(
        member(merge, &["parents"]),
        format!("[\"{other}\",\"{second}\"]")
    );
    assert_eq!(member(merge, &["closes_branch"]), "true");
    assert_eq!(member(merge, &["extra"]), "{}");
    // A file of the second parent is no copy of this changeset.
    assert_eq!(member(merge, &["files", "copied"]), "[]");
    assert_eq!(member(merge, &["files", "modified"]), "[\"a\"]");
    assert_eq!(member(merge, &["lines"]), "");
    // Another mode of a file makes no copy of it again.
    let mode = history.commit_one(&NewChangeset {
        parents: [second, Node::NULL],
        changes: &[write("src/copy", "1\n2\n3\n4\n")],
        ..plain()
    });
    history.synchronize();
    assert_eq!(
        history.member(mode, &["files"]),
        "{\"added\":[],\"modified\":[\"src/copy\"],\"removed\":[],\"copied\":[]}"
    );
}

#[test]
fn lines_are_counted_where_that_is_wanted() {
    let (mut history, [first, second, _, merge]) = three();
    history.settings.counts_lines = true;
    history.synchronize();
    assert_eq!(
        history.member(first, &["lines"]),
        "{\"added\":4,\"removed\":0,\"files\":{\"a\":[3,0],\"src/gone\":[1,0]}}"
    );
    assert_eq!(
        history.member(second, &["lines", "files"]),
        "{\"a\":[1,1],\"src/copy\":[1,0],\"src/gone\":[0,1]}"
    );
    // Against the first parent, as differences are shown.
    assert_eq!(history.member(merge, &["lines", "files"]), "{\"a\":[1,1]}");
    let binary = history.commit_one(&NewChangeset {
        parents: [merge, Node::NULL],
        changes: &[write("bin", "\0\n")],
        ..plain()
    });
    history.synchronize();
    assert_eq!(
        history.member(binary, &["lines"]),
        "{\"added\":0,\"removed\":0,\"files\":{}}"
    );
}

#[test]
fn names_are_documents_that_move() {
    let (history, [first, second, other, merge]) = three();
    history.bookmark("@", first);
    history.synchronize();
    let stored = |id: &str| history.documents().remove(id).unwrap_or_default();
    assert_eq!(
        stored("bookmark/@"),
        format!("{{\"type\":\"bookmark\",\"name\":\"@\",\"node\":\"{first}\"}}")
    );
    assert_eq!(
        stored("branch/stable"),
        format!(
            "{{\"type\":\"branch\",\"name\":\"stable\",\"node\":\"{merge}\",\"heads\":[\"{merge}\"],\"closed\":true}}"
        )
    );
    assert_eq!(
        stored("branch/default"),
        format!(
            "{{\"type\":\"branch\",\"name\":\"default\",\"node\":\"{other}\",\"heads\":[\"{other}\"],\"closed\":false}}"
        )
    );
    assert_eq!(
        stored(&format!("head/{merge}")),
        format!("{{\"type\":\"head\",\"node\":\"{merge}\",\"branch\":\"stable\",\"closed\":true}}")
    );
    history.bookmark("@", second);
    let tagging = format!("{first} v1\n");
    let tagged = history.commit_one(&NewChangeset {
        parents: [merge, Node::NULL],
        description: b"Tag",
        changes: &[write(".hgtags", &tagging)],
        ..plain()
    });
    history.synchronize();
    assert_eq!(
        stored("tag/v1"),
        format!("{{\"type\":\"tag\",\"name\":\"v1\",\"node\":\"{first}\"}}")
    );
    assert_eq!(stored(&format!("head/{merge}")), "");
    assert!(stored(&format!("head/{tagged}")).contains("\"closed\":false"));
    let document = history.database.snapshot().document("bookmark/@").unwrap();
    let document = document.unwrap();
    let (rev, _) = document.winner().unwrap();
    assert_eq!((rev.generation, document.tree().len()), (2, 2));
}

#[test]
fn current_files_are_documents_where_that_is_wanted() {
    let (mut history, [first, _, other, merge]) = three();
    history.settings.lists_files = true;
    history.synchronize();
    let paths = || {
        let mut paths: Vec<_> = history.documents().into_keys().collect();
        paths.retain(|id| id.starts_with("file/"));
        paths
    };
    // The tip of the branch default is the other changeset.
    assert_eq!(paths(), ["file/a", ODD, "file/src/gone"]);
    let file = history.document("file/a").unwrap();
    let file = varve_json::to_string(&file.into());
    assert!(
        file.starts_with("{\"type\":\"file\",\"path\":\"a\",\"size\":6,\"flags\":\"\",\"node\":\"")
    );
    assert!(
        file.ends_with(&format!(",\"changeset\":\"{first}\"}}")),
        "{file}"
    );
    assert_eq!(history.member(ODD, &["changeset"]), format!("\"{other}\""));
    let next = history.commit_one(&NewChangeset {
        parents: [merge, Node::NULL],
        changes: &[write("a", "long\n")],
        ..plain()
    });
    history.synchronize();
    assert_eq!(paths(), ["file/a", ODD, "file/src/copy"]);
    assert_eq!(
        history.member("file/a", &["changeset"]),
        format!("\"{next}\"")
    );
    assert_eq!(history.member("file/src/copy", &["flags"]), "\"x\"");
    assert_eq!(history.member("file/src/copy", &["size"]), "8");
    assert_eq!(history.generated(), history.expected());
    let without = HistorySettings::default();
    let history = History {
        settings: without,
        ..history
    };
    history.synchronize();
    assert!(!history.documents().keys().any(|id| id.starts_with("file/")));
}

#[test]
fn files_name_the_changeset_of_their_own_line_of_history() {
    let mut history = History::new();
    history.settings.lists_files = true;
    let root = history.commit_one(&NewChangeset {
        changes: &[write("f", "0")],
        ..plain()
    });
    // The same revision of the file, made twice.
    for user in [b"a", b"b"] {
        let node = history.commit_one(&NewChangeset {
            parents: [root, Node::NULL],
            user,
            changes: &[write("f", "1")],
            ..plain()
        });
        history.synchronize();
        let changeset = history.member("file/f", &["changeset"]);
        assert_eq!(changeset, format!("\"{node}\""));
    }
}

#[test]
fn hostile_texts_are_documents_too() {
    let history = History::new();
    let node = history.commit_one(&NewChangeset {
        user: b"\xff<\xfe@",
        date: (i64::from(i32::MAX) << 20, 0),
        description: b"\xff\r\nx",
        extras: &[(b"\xff", b"\xff")],
        ..plain()
    });
    history.bookmark("b", node);
    history.synchronize();
    assert_eq!(history.member(node, &["date"]), "null");
    assert_eq!(history.member(node, &["summary"]), "\"\u{fffd}\"");
}

#[test]
fn differences_are_those_to_the_first_parent_and_to_the_sources_of_copies() {
    let (history, [first, second, _, merge]) = three();
    let view = history.repository.view().unwrap();
    let shown = |node: Node, path: &str| {
        let rev = view.changelog().rev(&node).unwrap();
        let files = differences(&view, rev, path, &Interrupt::default()).unwrap();
        let files = files.into_iter().map(|file| {
            let file = varve_json::Value::from(file);
            let text = |name: &str| {
                file.get(name)
                    .map(varve_json::to_string)
                    .unwrap_or_default()
            };
            let hunks = file.get("hunks").unwrap().as_array().unwrap().iter();
            let lines = hunks.map(|hunk| varve_json::to_string(hunk.get("lines").unwrap()));
            let lines = lines.collect::<String>();
            format!(
                "{} {} {} {lines}",
                text("path"),
                text("change"),
                text("copied_from")
            )
        });
        files.collect::<Vec<_>>().join("; ").replace('"', "")
    };
    assert_eq!(
        shown(second, ""),
        "a modified  [ 1,-2, 3,+four]; src/copy added a [ 1, 2, 3,+4]; src/gone removed  [-x]"
    );
    assert_eq!(shown(second, "src/gone"), "src/gone removed  [-x]");
    assert_eq!(shown(first, "src"), "src/gone added  [+x]");
    // All that the other parent brought.
    assert!(shown(merge, "src").starts_with("src/copy added a [ 1, 2, 3,+4]; src/gone"));
}

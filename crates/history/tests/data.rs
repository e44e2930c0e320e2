//! Items of data files as documents.

use crate::history::{History, plain, write};
use varve_docdb::{Edit, Mode};
use varve_repo::{FileChange, NewChangeset, Node};

fn with_data(globs: &[&str]) -> History {
    let mut history = History::new();
    history.settings.data = globs.iter().map(|glob| (*glob).to_owned()).collect();
    history
}

fn commit(history: &History, parent: Node, changes: &[FileChange<'_>]) -> Node {
    let parents = [parent, Node::NULL];
    history.commit_one(&NewChangeset {
        parents,
        changes,
        ..plain()
    })
}

/// Commits versions of one file, each over the one before.
fn versions(history: &History, mut parent: Node, path: &str, contents: &[&str]) -> Vec<Node> {
    let commit = |content: &&str| {
        parent = commit(history, parent, &[write(path, content)]);
        parent
    };
    contents.iter().map(commit).collect()
}

/// Ids of items and data files that are there.
fn items(history: &History) -> Vec<String> {
    let ids = history.documents().into_keys();
    ids.filter(|id| id.starts_with("item/")).collect()
}

#[test]
fn revisions_of_items_are_their_versions() {
    let history = with_data(&["data/*.json", "*.csv"]);
    let path = "data/a.json";
    let contents = [
        r#"[{"id":"ada","n":1},{"id":"bo","n":1}]"#,
        r#"[{"id":"bo","n":1},{"id":"ada","n":2}]"#,
        r#"[{"id":"bo","n":1}]"#,
        r#"[{"id":"bo","n":1},{"id":"ada","n":4}]"#,
    ];
    let nodes = versions(&history, Node::NULL, path, &contents[..3]);
    assert_eq!(history.synchronize().commits, 1);
    let ada = "item/data/a.json:ada";
    let gone = ["-", r#"{"id":"ada","n":2}"#, r#"{"id":"ada","n":1}"#];
    assert_eq!(history.values(ada), gone);
    assert_eq!(
        history.values("item/data/a.json:bo"),
        [r#"{"id":"bo","n":1}"#]
    );
    let changeset = |id: &str| history.member(id, &["changeset"]);
    assert_eq!(
        changeset("item/data/a.json:bo"),
        format!("\"{}\"", nodes[0])
    );
    assert_eq!(changeset("item/data/a.json"), format!("\"{}\"", nodes[2]));
    let file = varve_json::to_string(&history.document("item/data/a.json").unwrap().into());
    let end = r#"","items":1,"problems":[]}"#;
    assert!(
        file.starts_with(r#"{"type":"data","path":"data/a.json","changeset":""#)
            && file.ends_with(end)
    );
    // A push with two versions is one commit, in which the item comes back; other files are no data.
    let back = versions(&history, nodes[2], path, &[contents[3], contents[1]]);
    let others = [
        write("other.json", "[1]"),
        write("x/y.csv", "k,v\na,1\n"),
        write("x.txt", "1"),
    ];
    let tip = commit(&history, back[1], &others);
    assert_eq!(history.synchronize().commits, 1);
    let two = r#"{"id":"ada","n":2}"#;
    let four = r#"{"id":"ada","n":4}"#;
    assert_eq!(
        history.values(ada),
        [[two, four].as_slice(), gone.as_slice()].concat()
    );
    let all = [
        "item/data/a.json",
        ada,
        "item/data/a.json:bo",
        "item/x/y.csv",
        "item/x/y.csv:a",
    ];
    assert_eq!(items(&history), all);
    assert_eq!(history.values("item/x/y.csv:a"), [r#"{"k":"a","v":"1"}"#]);
    renames_have_other_documents(&history, tip);
    assert_eq!(history.values(ada)[..2], ["-", two]);
    assert_eq!(history.generated(), history.expected());
    assert_eq!(history.synchronize().commits, 0);
}

/// Renames the data file.
fn renames_have_other_documents(history: &History, tip: Node) {
    let path = b"data/a.json";
    let content = "{\"ada\": 1, \"bo\": 2}";
    let renamed = FileChange::Write {
        path: b"data/b.json",
        content: content.as_bytes(),
        kind: varve_repo::FileKind::Plain,
        copied_from: Some(path),
    };
    commit(history, tip, &[FileChange::Remove { path }, renamed]);
    history.synchronize();
    let first = [
        "item/data/b.json",
        "item/data/b.json:ada",
        "item/data/b.json:bo",
    ];
    assert_eq!(items(history)[..3], first);
}

#[test]
fn files_that_cannot_be_read_keep_their_items() {
    let history = with_data(&["*.ndjson"]);
    let nodes = versions(
        &history,
        Node::NULL,
        "a:b.ndjson",
        &["1\n2\n", "1\n<<<<<<<\n"],
    );
    history.synchronize();
    let file = "item/a%3Ab.ndjson";
    assert_eq!(
        items(&history),
        [file, &format!("{file}:@1"), &format!("{file}:@2")]
    );
    assert_eq!(history.member(file, &["items"]), "2");
    assert!(
        history
            .member(file, &["problems"])
            .starts_with("[\"line 2: ")
    );
    assert_eq!(
        history.member(file, &["changeset"]),
        format!("\"{}\"", nodes[1])
    );
    versions(&history, nodes[1], "a:b.ndjson", &["1\n3\n"]);
    history.synchronize();
    assert_eq!(history.values(&format!("{file}:@2")), ["3", "2"]);
    assert_eq!(history.member(file, &["problems"]), "[]");
    assert_eq!(history.generated(), history.expected());
}

#[test]
fn another_line_of_history_is_one_revision() {
    let mut history = with_data(&["*.json"]);
    let nodes = versions(
        &history,
        Node::NULL,
        "a.json",
        &[r#"{"k":1,"l":1}"#, r#"{"k":2}"#, r#"{"k":3}"#],
    );
    history.synchronize();
    history.strip(&[nodes[1]]);
    history.synchronize();
    assert_eq!(history.values("item/a.json:k"), ["1", "3", "2", "1"]);
    assert_eq!(history.values("item/a.json:l"), ["1", "-", "1"]);
    // A merge takes a file from its second parent without naming it.
    let side = versions(&history, nodes[0], "a.json", &[r#"{"k":4,"l":1}"#]);
    let main = commit(&history, nodes[0], &[write("z", "z")]);
    history.commit_one(&NewChangeset {
        parents: [main, side[0]],
        changes: &[write("a.json", r#"{"k":4,"l":1}"#)],
        ..plain()
    });
    history.synchronize();
    assert_eq!(history.values("item/a.json:k")[..2], ["4", "1"]);
    assert_eq!(history.generated(), history.expected());
    // Of history that was written anew the versions are not played back.
    history.strip(&[nodes[0]]);
    versions(
        &history,
        Node::NULL,
        "a.json",
        &[r#"{"k":5}"#, r#"{"k":6,"l":1}"#],
    );
    history.synchronize();
    assert_eq!(history.values("item/a.json:k")[..2], ["6", "4"]);
    assert_eq!(history.generated(), history.expected());
    // Documents of people under such names are replaced; without the setting all go.
    let mut edit = Edit::parse(Some("item/x"), b"{}").unwrap();
    edit.set_id("item/b.json:1".to_owned()).unwrap();
    history
        .database
        .update_one(edit, Mode::Interactive)
        .unwrap()
        .unwrap();
    history.settings.data = vec!["b.*".to_owned(), "a.json".to_owned()];
    history.synchronize();
    assert_eq!(
        items(&history),
        ["item/a.json", "item/a.json:k", "item/a.json:l"]
    );
    history.settings.data.clear();
    history.synchronize();
    assert!(items(&history).is_empty());
    history.settings.data = vec!["x/*.json".to_owned(), "[".to_owned(), "**.json".to_owned()];
    history.synchronize();
    assert_eq!(items(&history).len(), 3);
}

#[test]
fn a_fill_of_items_goes_on_after_a_kill() {
    let history = with_data(&["*.json"]);
    let content = |version: usize| {
        let members: Vec<String> = (0..600).map(|key| format!("\"{key}\":{version}")).collect();
        format!("{{{}}}", members.join(","))
    };
    let contents: Vec<String> = (0..4).map(content).collect();
    let contents: Vec<&str> = contents.iter().map(String::as_str).collect();
    versions(&history, Node::NULL, "a.json", &contents);
    history.interrupt_after_first_commit();
    let mut history = history.reopened();
    assert_eq!(history.values("item/a.json:599"), ["1", "0"]);
    history.synchronize();
    assert_eq!(history.values("item/a.json:599"), ["3", "2", "1", "0"]);
    assert_eq!(history.generated(), history.expected());
    // The same, but the setting is gone when it would go on.
    let other = with_data(&["*.json"]);
    versions(&other, Node::NULL, "a.json", &contents);
    other.interrupt_after_first_commit();
    history = other;
    history.settings.data.clear();
    history.synchronize();
    assert!(items(&history).is_empty());
}

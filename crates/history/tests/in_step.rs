//! Databases follow their repositories.

use crate::history::{History, plain, write};
use varve_base::Interrupt;
use varve_docdb::{Edit, Mode};
use varve_history::{Changes, HistoryError};
use varve_repo::{NewChangeset, Node, Phase};

const NOTHING: Changes = Changes {
    documents: 0,
    commits: 0,
};

#[test]
fn a_push_is_one_commit_and_a_second_run_writes_nothing() {
    let history = History::new();
    history.synchronize();
    assert_eq!(history.synchronize(), NOTHING);
    let nodes = history.commit(Node::NULL, Phase::Public, &["a", "b", "c"]);
    let before = history.database.snapshot().update_seq();
    let changes = history.synchronize();
    assert_eq!(changes.commits, 1);
    let mut changed = history.changed_since(before);
    let mut wanted: Vec<String> = nodes.iter().map(Node::to_string).collect();
    wanted.push("branch/default".to_owned());
    wanted.push(format!("head/{}", nodes[2]));
    changed.sort();
    wanted.sort();
    assert_eq!(changed, wanted);
    assert_eq!(history.synchronize(), NOTHING);
    let history = history.reopened();
    assert_eq!(history.synchronize(), NOTHING);
}

#[test]
fn stripped_changesets_become_tombstones() {
    let history = History::new();
    let trunk = history.commit(Node::NULL, Phase::Public, &["a", "b"]);
    let side = history.commit(trunk[0], Phase::Public, &["c"]);
    let above = history.commit(trunk[1], Phase::Public, &["d"]);
    history.bookmark("here", side[0]);
    history.synchronize();
    history.strip(&[trunk[1]]);
    assert!(history.synchronize().documents > 0);
    let snapshot = history.database.snapshot();
    for gone in [trunk[1], above[0]] {
        let document = snapshot.document(&gone.to_string()).unwrap().unwrap();
        assert!(document.is_deleted());
    }
    // The number of the one that stays is another now.
    assert_eq!(history.member(side[0], &["rev"]), "1");
    assert_eq!(history.generated(), history.expected());
    // The same changesets come back.
    history.commit(trunk[0], Phase::Public, &["b"]);
    history.synchronize();
    assert_eq!(history.generated(), history.expected());
    assert_eq!(history.synchronize(), NOTHING);
}

#[test]
fn phases_decide_which_changesets_are_documents() {
    let mut history = History::new();
    let public = history.commit(Node::NULL, Phase::Public, &["a"]);
    let draft = history.commit(public[0], Phase::Draft, &["b"]);
    let secret = history.commit(draft[0], Phase::Secret, &["c"]);
    history.bookmark("b", draft[0]);
    history.synchronize();
    assert!(history.document(public[0]).is_some());
    assert!(history.document(draft[0]).is_none() && history.document("bookmark/b").is_none());
    let head = format!("head/{}", public[0]);
    assert!(history.document(&head).is_some());
    let heads = |history: &History| history.member("branch/default", &["heads"]);
    assert_eq!(heads(&history), format!("[\"{}\"]", public[0]));
    history.move_phase(draft[0], Phase::Public);
    history.synchronize();
    assert!(history.document(draft[0]).is_some() && history.document("bookmark/b").is_some());
    assert!(history.document(&head).is_none());
    // Taken back.
    history.move_phase(draft[0], Phase::Draft);
    history.synchronize();
    assert!(history.document(draft[0]).is_none() && history.document(&head).is_some());
    history.settings.includes_drafts = true;
    history.synchronize();
    assert_eq!(history.member(draft[0], &["phase"]), "\"draft\"");
    assert_eq!(heads(&history), format!("[\"{}\"]", draft[0]));
    assert!(history.document(secret[0]).is_none());
    history.move_phase(draft[0], Phase::Public);
    history.synchronize();
    assert_eq!(history.member(draft[0], &["phase"]), "\"public\"");
    history.settings.includes_drafts = false;
    history.move_phase(draft[0], Phase::Draft);
    history.synchronize();
    assert!(history.document(draft[0]).is_none());
    assert_eq!(history.generated(), history.expected());
}

#[test]
fn a_fill_goes_on_after_a_kill() {
    let history = History::new();
    let words: Vec<String> = (0..2500).map(|number| number.to_string()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let nodes = history.commit(Node::NULL, Phase::Public, &words);
    history.interrupt_after_first_commit();
    let history = history.reopened();
    let filled = history.generated().len();
    assert_eq!(filled, 1000);
    // Names come with the last batch.
    assert!(history.document("branch/default").is_none());
    let before = history.database.snapshot().update_seq();
    let changes = history.synchronize();
    assert_eq!(changes.commits, 2);
    let again = history.changed_since(before);
    assert!(!again.contains(&nodes[0].to_string()) && again.len() >= 1500);
    assert_eq!(history.generated().len(), 2502);
    assert_eq!(history.synchronize(), NOTHING);
    // A push of as many changesets is one commit.
    let more: Vec<String> = (0..1500).map(|number| format!("m{number}")).collect();
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    history.commit(nodes[2499], Phase::Public, &more);
    assert_eq!(history.synchronize().commits, 1);
}

#[test]
fn documents_of_people_stay_and_databases_of_others_are_left_alone() {
    let history = History::new();
    let nodes = history.commit(Node::NULL, Phase::Public, &["a", "b"]);
    history.synchronize();
    for id in ["review/1", "0-note", "bookmarks"] {
        let review = Edit::parse(Some(id), b"{\"type\":\"review\"}").unwrap();
        let stored = history.database.update_one(review, Mode::Interactive);
        stored.unwrap().unwrap();
    }
    history.strip(&[nodes[1]]);
    history.synchronize();
    for id in ["review/1", "0-note", "bookmarks"] {
        assert_eq!(history.member(id, &["type"]), "\"review\"");
    }
    let other = History::new();
    let note = Edit::parse(Some("note"), b"{}").unwrap();
    let stored = other.database.update_one(note, Mode::Interactive);
    stored.unwrap().unwrap();
    let refused = other.try_synchronize(&Interrupt::default()).unwrap_err();
    assert!(matches!(refused, HistoryError::Foreign));
    assert_eq!(other.documents().len(), 1);
}

#[test]
fn a_fill_that_was_cut_short_in_the_files_goes_on() {
    let mut history = History::new();
    history.settings.lists_files = true;
    let paths: Vec<String> = (0..1001).map(|number| format!("f{number}")).collect();
    let changes: Vec<_> = paths.iter().map(|path| write(path, "x")).collect();
    history.commit_one(&NewChangeset {
        changes: &changes,
        ..plain()
    });
    history.interrupt_after_first_commit();
    let mut history = history.reopened();
    assert_eq!(history.generated().len(), 1000);
    history.settings.lists_files = false;
    history.synchronize();
    assert_eq!(history.generated(), history.expected());
}

#[test]
fn a_changed_setting_makes_documents_anew() {
    let mut history = History::new();
    let nodes = history.commit(Node::NULL, Phase::Public, &["a", "b"]);
    history.synchronize();
    history.settings.counts_lines = true;
    assert_eq!(history.synchronize().documents, 2);
    assert_eq!(history.member(nodes[1], &["lines", "added"]), "1");
    history.settings.counts_lines = false;
    history.synchronize();
    assert_eq!(history.member(nodes[1], &["lines"]), "");
    let merge = history.commit_one(&NewChangeset {
        parents: [nodes[0], Node::NULL],
        changes: &[write("z", "z")],
        ..plain()
    });
    history.synchronize();
    assert!(history.document(merge).is_some());
}

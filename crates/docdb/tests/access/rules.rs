//! Edits that users may make, and the documents that they see then.

use super::{changed, listed, member, memory, put, put_rev, refused, replicate, seen_by, user};
use crate::{PATH, edit, get, options};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use varve_base::MemoryStorage;
use varve_docdb::{AccessError, Database, Direction, Edit, EditError, Mode, Viewer};

const A: &str = r#""_access":["ann"]"#;

#[test]
fn users_write_what_names_them_and_see_only_that() {
    let db = memory();
    let (ann, bob) = (user("ann"), user("bob"));
    let not_named = refused(AccessError::AuthorNotNamed);
    assert_eq!(put(&db, &ann, r#"{"_id":"x"}"#), not_named);
    assert_eq!(put(&db, &ann, r#"{"_id":"x","_access":[]}"#), not_named);
    assert_eq!(put(&db, &bob, &format!(r#"{{"_id":"x",{A}}}"#)), not_named);
    assert_eq!(
        put(&db, &Viewer::none(), r#"{"_id":"x","_access":["_users"]}"#),
        not_named
    );
    let unknown = db.update_one(edit(&format!(r#"{{"_id":"x",{A}}}"#)), Mode::Interactive);
    assert_eq!(unknown.unwrap(), not_named, "an edit without an author");
    for wrong in [
        "1",
        r#"["ann",1]"#,
        r#"[["ann","bob"]]"#,
        r#"["ann",""]"#,
        "null",
    ] {
        let text = format!(r#"{{"_id":"x","_access":{wrong}}}"#);
        assert_eq!(
            put(&db, &Viewer::ALL, &text),
            refused(AccessError::Malformed),
            "{wrong}"
        );
    }
    assert_eq!(db.snapshot().update_seq(), 0);

    let rev = put_rev(&db, &ann, &format!(r#"{{"_id":"x",{A},"v":1}}"#));
    put_rev(&db, &Viewer::ALL, r#"{"_id":"admins"}"#);
    let whole = format!(r#"{{"_id":"x","_rev":"{rev}",{A},"v":1}}"#);
    assert_eq!(get(&seen_by(&db, &ann), "x").unwrap(), whole);
    assert_eq!(get(&db.snapshot(), "x").unwrap(), whole);
    for (viewer, count) in [
        (&ann, 1),
        (&bob, 0),
        (&Viewer::none(), 0),
        (&Viewer::ALL, 2),
    ] {
        let snapshot = seen_by(&db, viewer);
        assert_eq!(listed(&snapshot).len(), count);
        assert_eq!(changed(&snapshot, 0).len(), count);
        let info = snapshot.info().unwrap();
        assert_eq!(info.doc_count, count as u64);
        assert_eq!(snapshot.count_changes(0).unwrap(), count as u64);
        assert_eq!(info.update_seq, [0, 1, 2][count]);
        assert_eq!(info.external > 0, count > 0);
    }
    assert_eq!(get(&seen_by(&db, &bob), "x"), None);
    assert_eq!(get(&seen_by(&db, &ann), "admins"), None);
    assert_eq!(
        seen_by(&db, &ann)
            .documents(&["admins", "x"])
            .unwrap()
            .iter()
            .flatten()
            .count(),
        1
    );
}

#[test]
fn no_user_takes_away_the_document_of_another() {
    let db = memory();
    let (ann, bob, eve) = (
        user("ann"),
        member("bob", &["team"]),
        member("eve", &["team"]),
    );
    let rev = put_rev(&db, &ann, &format!(r#"{{"_id":"x",{A}}}"#));
    let foreign = refused(AccessError::Foreign);
    // The id is taken, the revision may be guessed, and a history may be made up.
    let own = r#""_access":["bob"]"#;
    assert_eq!(put(&db, &bob, &format!(r#"{{"_id":"x",{own}}}"#)), foreign);
    assert_eq!(
        put(&db, &bob, &format!(r#"{{"_id":"x","_rev":"{rev}",{own}}}"#)),
        foreign
    );
    let deletion = Edit::deletion("x", &rev).unwrap().written_by(&bob);
    assert_eq!(db.update_one(deletion, Mode::Interactive).unwrap(), foreign);
    let digest = &rev[2..];
    let next = format!(r#"{{"_id":"x",{own},"_revisions":{{"start":2,"ids":["bb","{digest}"]}}}}"#);
    assert_eq!(replicate(&db, &bob, &next), foreign);
    assert_eq!(
        replicate(&db, &bob, &format!(r#"{{"_id":"x","_rev":"9-ff",{own}}}"#)),
        foreign
    );
    // Nor is a revision that is known already told from one that is not.
    assert_eq!(
        replicate(&db, &bob, &format!(r#"{{"_id":"x","_rev":"{rev}",{own}}}"#)),
        foreign
    );
    assert_eq!(db.snapshot().update_seq(), 1);

    // Names may be added, but not removed, except by admins.
    let narrowed = refused(AccessError::Narrowed);
    let text = format!(r#"{{"_id":"x","_rev":"{rev}","_access":["team","ann"]}}"#);
    let rev = put_rev(&db, &ann, &text);
    let text = format!(r#"{{"_id":"x","_rev":"{rev}","_access":["team"]}}"#);
    assert_eq!(put(&db, &eve, &text), narrowed);
    assert_eq!(
        get(&seen_by(&db, &ann), "x").unwrap(),
        format!(r#"{{"_id":"x","_rev":"{rev}","_access":["team","ann"]}}"#)
    );
    put_rev(&db, &Viewer::ALL, &text);
    assert_eq!(get(&seen_by(&db, &ann), "x"), None);
    assert!(get(&seen_by(&db, &bob), "x").is_some());
}

#[test]
fn a_history_that_joins_branches_replaces_none_that_is_foreign() {
    let db = memory();
    let (ann, bob) = (user("ann"), user("bob"));
    let all = Viewer::ALL;
    // Two leaves without known ancestors, one for each.
    replicate(&db, &all, r#"{"_id":"x","_rev":"3-cc","_access":["bob"]}"#).unwrap();
    replicate(&db, &all, r#"{"_id":"x","_rev":"4-dd","_access":["ann"]}"#).unwrap();
    let joined = r#"{"_id":"x","_access":["ann"],"_revisions":{"start":5,"ids":["ee","dd","cc"]}}"#;
    assert_eq!(replicate(&db, &ann, joined), refused(AccessError::Foreign));
    let own = r#"{"_id":"x","_access":["ann"],"_revisions":{"start":5,"ids":["ee","dd"]}}"#;
    replicate(&db, &ann, own).unwrap();
    let leaf = |viewer: &Viewer| {
        let document = seen_by(&db, viewer).document("x").unwrap().unwrap();
        let leaves: Vec<_> = document
            .tree()
            .leaves()
            .map(|leaf| leaf.rev.to_string())
            .collect();
        leaves.join(" ")
    };
    assert_eq!(leaf(&ann), "5-ee");
    assert_eq!(leaf(&bob), "3-cc");
    assert_eq!(leaf(&all), "5-ee 3-cc");
    // What only ann may see does not move the document in bob's feed.
    let bobs = changed(&seen_by(&db, &bob), 0);
    assert_eq!(bobs, [(1, "x".to_owned(), "3-cc".to_owned())]);
    assert_eq!(changed(&seen_by(&db, &ann), 2).len(), 1);
    // Old revisions are not shown, also to those who could see them.
    let old = seen_by(&db, &ann).document("x").unwrap().unwrap();
    assert!(old.revision(&"4-dd".parse().unwrap()).is_none());
    assert_eq!(old.tree().history(&"5-ee".parse().unwrap()).len(), 2);
}

#[test]
fn tombstones_go_to_readers_of_the_document() {
    let db = memory();
    let (ann, bob, eve) = (user("ann"), user("bob"), user("eve"));
    let rev = put_rev(&db, &ann, r#"{"_id":"x","_access":["ann","bob"]}"#);
    let deletion = Edit::deletion("x", &rev).unwrap().written_by(&bob);
    let gone = db
        .update_one(deletion, Mode::Interactive)
        .unwrap()
        .unwrap()
        .rev
        .to_string();
    for (viewer, seen) in [(&ann, 1), (&bob, 1), (&eve, 0)] {
        let snapshot = seen_by(&db, viewer);
        assert_eq!(changed(&snapshot, 1).len(), seen);
        let info = snapshot.info().unwrap();
        assert_eq!((info.doc_count, info.doc_del_count), (0, seen as u64));
        assert!(listed(&snapshot).is_empty());
    }
    let text = format!(r#"{{"_id":"x","_rev":"{gone}","_access":["ann","bob"],"_deleted":true}}"#);
    assert_eq!(get(&seen_by(&db, &ann), "x").unwrap(), text);
    // The id stays theirs.
    let again = r#"{"_id":"x","_access":["eve","ann","bob"]}"#;
    assert_eq!(put(&db, &eve, again), refused(AccessError::Foreign));
    assert!(put_rev(&db, &bob, r#"{"_id":"x","_access":["ann","bob"]}"#).starts_with("3-"));
    // As PouchDB removes and pushes, once with a known parent and once without.
    let rev = put_rev(&db, &eve, r#"{"_id":"y","_access":["eve"]}"#);
    let digest = &rev[2..];
    let text = format!(
        r#"{{"_id":"y","_deleted":true,"_revisions":{{"start":2,"ids":["aa","{digest}"]}}}}"#
    );
    replicate(&db, &eve, &text).unwrap();
    let text = r#"{"_id":"z","_deleted":true,"_revisions":{"start":2,"ids":["aa","bb"]}}"#;
    replicate(&db, &eve, text).unwrap();
    assert_eq!(seen_by(&db, &eve).info().unwrap().doc_del_count, 2);
}

#[test]
fn the_names_are_a_part_of_the_revision() {
    let db = memory();
    let revs = ["[]", r#"["ann"]"#, r#"["ann","bob"]"#].map(|names| {
        let text = format!(r#"{{"_id":"x{}","_access":{names}}}"#, names.len());
        put_rev(&db, &Viewer::ALL, &text)
    });
    assert!(revs[0] != revs[1] && revs[1] != revs[2]);
    let plain = put_rev(&db, &Viewer::ALL, r#"{"_id":"plain"}"#);
    assert_eq!(
        plain, "1-967a00dff5e02add41819138abb3284d",
        "as in other databases"
    );
}

#[test]
fn stubs_stand_for_attachments_that_the_author_may_see() {
    let db = memory();
    let (ann, all) = (user("ann"), Viewer::ALL);
    let data = r#""_attachments":{"f":{"data":"c2VjcmV0"}}"#;
    let text = format!(r#"{{"_id":"x","_rev":"3-cc","_access":["bob"],{data}}}"#);
    replicate(&db, &all, &text).unwrap();
    replicate(&db, &all, r#"{"_id":"x","_rev":"4-dd","_access":["ann"]}"#).unwrap();
    let stub = r#""_attachments":{"f":{"stub":true}},"_access":["ann"]"#;
    let text = format!(r#"{{"_id":"x",{stub},"_revisions":{{"start":5,"ids":["ee","dd","cc"]}}}}"#);
    let outcome = replicate(&db, &ann, &text).unwrap_err();
    assert!(
        matches!(outcome, EditError::MissingStub { .. }),
        "{outcome:?}"
    );
}

#[test]
fn local_documents_are_their_users_own() {
    let db = memory();
    let (ann, bob) = (user("ann"), user("bob"));
    for (viewer, value) in [(&ann, 1), (&bob, 2), (&Viewer::ALL, 3)] {
        let text = format!(r#"{{"_id":"_local/x","v":{value}}}"#);
        assert_eq!(put(&db, viewer, &text).unwrap().id, "_local/x");
    }
    for (viewer, value) in [(&ann, 1), (&bob, 2), (&Viewer::ALL, 3)] {
        let local = seen_by(&db, viewer).local("_local/x").unwrap().unwrap();
        assert_eq!(local.id, "_local/x");
        assert_eq!(local.body, format!(r#"{{"v":{value}}}"#).as_bytes());
        let ids = |low, high, direction| {
            let found = seen_by(&db, viewer)
                .local_docs(low, high, direction)
                .unwrap();
            found.map(|local| local.unwrap().id).collect::<Vec<_>>()
        };
        let all = ids(Bound::Unbounded, Bound::Unbounded, Direction::Backward);
        assert_eq!(all.len(), if viewer.sees_all() { 3 } else { 1 });
        assert_eq!(
            ids(
                Bound::Included("x"),
                Bound::Included("x"),
                Direction::Forward
            ),
            ["_local/x"]
        );
        assert!(ids(Bound::Excluded("x"), Bound::Unbounded, Direction::Forward).is_empty());
    }
    let none = seen_by(&db, &Viewer::none());
    assert_eq!(none.local("x").unwrap(), None);
    let mut locals = none
        .local_docs(Bound::Unbounded, Bound::Unbounded, Direction::Forward)
        .unwrap();
    assert!(locals.next().is_none());
    let anonymous = put(&db, &Viewer::none(), r#"{"_id":"_local/x"}"#);
    assert_eq!(anonymous, refused(AccessError::AuthorNotNamed));
    let named = put(&db, &ann, &format!(r#"{{"_id":"_local/x",{A}}}"#));
    assert_eq!(named, refused(AccessError::Local));
}

#[test]
fn other_databases_ignore_the_viewer() {
    let storage = Arc::new(MemoryStorage::default());
    let db = Database::create(storage, Path::new(PATH), &options()).unwrap();
    assert!(!db.snapshot().has_access());
    put_rev(&db, &Viewer::none(), r#"{"_id":"x","_access":["ann"]}"#);
    let snapshot = seen_by(&db, &user("bob"));
    assert!(!snapshot.is_restricted());
    assert_eq!(
        get(&snapshot, "x").unwrap(),
        r#"{"_id":"x","_rev":"1-967a00dff5e02add41819138abb3284d"}"#
    );
}

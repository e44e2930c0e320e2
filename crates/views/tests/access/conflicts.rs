//! Documents whose leaves name different readers, and what map functions see of them.

use super::{memory, open, refresh, user, with_access};
use crate::common::{replicate, short, with_context};
use parking_lot::Mutex;
use varve_docdb::Viewer;
use varve_views::{BuildContext, BuildLog};

const DESIGN: &str = r#"{"options":{"local_seq":true},"views":{"v":{"map":
    "function (d) { emit(d._rev, [d._conflicts, d._deleted_conflicts, d._local_seq]); }"}}}"#;

#[test]
fn map_functions_see_the_conflicts_that_all_readers_of_the_revision_see() {
    let db = with_access(memory());
    let index = open(memory(), DESIGN, 0);
    for document in [
        r#"{"_id":"x","_rev":"1-a","_access":["ann","bob","eve"]}"#,
        r#"{"_id":"x","_rev":"1-b","_access":["ann","bob"]}"#,
        r#"{"_id":"x","_rev":"1-c","_access":["eve"],"_deleted":true}"#,
        r#"{"_id":"y","_rev":"1-a","_access":["ann"]}"#,
        r#"{"_id":"y","_rev":"1-b","_access":["ann"]}"#,
    ] {
        replicate(&db, &[document]);
    }
    let seen = |viewer: &Viewer| short(&refresh(&index, &db, viewer), "v");
    let row = |id: &str, rev: &str, value: &str| {
        format!(r#"{{"id":"{id}","key":"{rev}","value":[{value}]}}"#)
    };
    let all = [
        row("x", "1-b", r#"["1-a"],["1-c"],3"#),
        row("y", "1-b", r#"["1-a"],null,5"#),
    ];
    assert_eq!(seen(&Viewer::ALL), format!("[{}]", all.join(",")));
    let own = [
        row("x", "1-b", r#"["1-a"],null,2"#),
        row("y", "1-b", r#"["1-a"],null,5"#),
    ];
    assert_eq!(seen(&user("ann", &[])), format!("[{}]", own.join(",")));
    assert_eq!(seen(&user("bob", &[])), format!("[{}]", own[0]));
    // Eve sees the deleted revision too, but Ann and Bob, who share the row, do not.
    let eves = row("x", "1-a", "null,null,1");
    assert_eq!(seen(&user("eve", &[])), format!("[{eves}]"));
    // A user of two names has the better of the two winners, once.
    assert_eq!(seen(&user("eve", &["bob"])), format!("[{}]", own[0]));
    let rows = |viewer: &Viewer, question: &str| short(&refresh(&index, &db, viewer), question);
    assert_eq!(rows(&user("eve", &["bob"]), "v?key=\"1-a\""), "[]");
}

#[derive(Default)]
struct Failures(Mutex<Vec<String>>);

impl BuildLog for Failures {
    fn message(&self, _: &str, _: &str) {}

    fn failure(&self, document: &str, _: Option<&str>, reason: &str) {
        self.0.lock().push(format!("{document}: {reason}"));
    }
}

#[test]
fn a_document_with_too_much_for_its_readers_has_rows_for_admins_only() {
    let design =
        r#"{"views":{"v":{"map":"function (d) { for (var i = 0; i < d.n; i++) emit(d.k, i); }"}}}"#;
    let db = with_access(memory());
    let names: Vec<String> = (0..1000).map(|n| format!("\"u{n}\"")).collect();
    let names = names.join(",");
    let long = "k".repeat(500);
    replicate(
        &db,
        &[
            // 1,000 keys of about 500 bytes, or more than 100 MB, for 1,000 readers; and one that is within bounds.
            format!(r#"{{"_id":"wide","_rev":"1-a","_access":[{names}],"n":1000,"k":"{long}"}}"#),
            format!(r#"{{"_id":"fit","_rev":"1-a","_access":[{names}],"n":3,"k":"{long}"}}"#),
        ],
    );
    let many: Vec<String> = (0..65)
        .map(|n| format!(r#"{{"_id":"torn","_rev":"1-{n}","_access":["u{n}"],"n":1}}"#))
        .collect();
    replicate(&db, &many);
    let (index, log) = (open(memory(), design, 0), Failures::default());
    let build = |context: &BuildContext<'_>| {
        let context = BuildContext {
            log: &log,
            ..*context
        };
        index.update_to(&db.snapshot(), &context)
    };
    let all = with_context(build).unwrap();
    assert_eq!(all.row_count("v").unwrap(), 1004);
    let own = short(&refresh(&index, &db, &user("u7", &[])), "v");
    assert_eq!(own.matches("\"id\":\"fit\"").count(), 3);
    assert_eq!(own.matches("\"id\":").count(), 3);
    let mut told = log.0.lock().clone();
    told.sort();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].starts_with("torn: it has too many conflicts"),
        "{told:?}"
    );
    assert!(
        told[1].starts_with("wide: its rows are too many"),
        "{told:?}"
    );
    // Such a document can be changed, and has rows again.
    replicate(
        &db,
        &[
            r#"{"_id":"wide","_rev":"2-a","_revisions":{"start":2,"ids":["a","a"]},"_access":["u7"],"n":1}"#,
        ],
    );
    let own = short(&refresh(&index, &db, &user("u7", &[])), "v");
    assert_eq!(own.matches("\"id\":\"wide\"").count(), 1);
}

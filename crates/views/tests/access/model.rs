//! Random documents, readers and conflicts: to each user a view is that of a database which has the visible leaves and
//! nothing else.

use super::{memory, open, refresh, user, with_access};
use crate::common::{self, ask, database};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use varve_base::{Interrupt, Progress, Silent, Unit};
use varve_docdb::{Database, Viewer};
use varve_views::{IndexSnapshot, ViewIndex};

const DESIGN: &str = r#"{"views":{
    "keys":{"map":"function (d) { for (var i in d.keys) emit([d.keys[i], d.v], d.v); }","reduce":"_sum"},
    "count":{"map":"function (d) { for (var i in d.keys) emit([d.keys[i], d.v], d.v); }","reduce":"_count"},
    "stats":{"map":"function (d) { if (d.v > 3) emit(d.v, d.v); }","reduce":"_stats"},
    "first":{"map":"function (d) { emit(d.v % 3, d._id); }","reduce":"_first"},
    "last":{"map":"function (d) { emit(d.v % 3, d._id); }","reduce":"_last"},
    "distinct":{"map":"function (d) { emit(d.v % 3, d._id); }","reduce":"_approx_count_distinct"},
    "js":{"map":"function (d) { emit([d.v % 2, d.v], 1); emit([d.v % 2, d.v], 2); }",
          "reduce":"function (k, v, r) { return sum(v) }"}}}"#;

/// Questions whose answers are compared.
const QUESTIONS: [&str; 34] = [
    "keys?reduce=false",
    "keys?reduce=false&descending=true",
    "keys?reduce=false&skip=2&limit=3",
    "keys?reduce=false&descending=true&skip=3&limit=2",
    "keys?reduce=false&skip=100",
    "keys?reduce=false&limit=0",
    "keys?reduce=false&startkey=[1]&endkey=[2,{}]",
    "keys?reduce=false&startkey=[2,{}]&endkey=[1]&descending=true",
    "keys?reduce=false&startkey=[1]&endkey=[2,4]&inclusive_end=false&skip=1",
    "keys?reduce=false&startkey=[3,{}]",
    "js?reduce=false&key=[1,5]",
    "js?reduce=false&key=[0,4]&startkey_docid=d02&endkey_docid=d06",
    "js?reduce=false&keys=[[1,5],[0,2],[9,9],[1,5]]",
    "js?reduce=false&keys=[[1,5],[0,2],[9,9]]&descending=true&skip=1&limit=4",
    "js?reduce=false&keys=[[9,9],[8,8]]",
    "js?reduce=false&sorted=false&skip=1",
    "keys",
    "keys?group=true",
    "keys?group=true&descending=true&skip=1&limit=2",
    "keys?group_level=1",
    "keys?group_level=1&descending=true",
    "keys?group_level=1&startkey=[1,3]&endkey=[3]",
    "count",
    "count?group_level=1",
    "stats",
    "stats?group=true",
    "first?group=true",
    "last",
    "last?group=true&descending=true",
    "distinct",
    "distinct?group=true",
    "js",
    "js?group_level=1",
    "js?group=true&keys=[[1,5],[0,2],[9,9]]",
];

/// Names of users and roles; some begin as others do, or have the bytes that end names in rows.
const NAMES: [&str; 7] = ["ann", "team", "te", "te\u{1}", "te\0", "_users", "eve"];

fn viewers() -> Vec<(Viewer, BTreeSet<&'static str>)> {
    let named = |name: &str, roles: &[&'static str], names: &[&'static str]| {
        (user(name, roles), names.iter().copied().collect())
    };
    vec![
        named("ann", &["team"], &["ann", "team", "_users"]),
        named("eve", &[], &["eve", "_users"]),
        named(
            "te",
            &["te\u{1}", "te\0", "team"],
            &["te", "te\u{1}", "te\0", "team", "_users"],
        ),
        (user("nobody", &[]), BTreeSet::from(["_users"])),
        (Viewer::none(), BTreeSet::new()),
    ]
}

#[derive(Clone, Debug)]
enum Step {
    /// Document, branch, readers, value, keys: a new leaf, or one in the place of the branch's last.
    Put(u8, u8, Vec<usize>, u8, Vec<u8>),
    Delete(u8, u8),
    Purge(u8),
    Refresh,
    Compact,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let keys = proptest::collection::vec(0..4u8, 0..4);
    let names = proptest::collection::vec(0..NAMES.len(), 0..4);
    // Seldom more than one branch.
    let branch = prop_oneof![6 => Just(0u8), 1 => Just(1), 1 => Just(2)];
    prop_oneof![
        9 => (0..9u8, branch, names, 0..9u8, keys)
            .prop_map(|(id, branch, names, v, keys)| Step::Put(id, branch, names, v, keys)),
        2 => (0..9u8, 0..3u8).prop_map(|(id, branch)| Step::Delete(id, branch)),
        1 => (0..9u8).prop_map(Step::Purge),
        2 => Just(Step::Refresh),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
    ]
}

#[derive(Clone, Debug, Default)]
struct Branch {
    generation: u64,
    deleted: bool,
    names: BTreeSet<&'static str>,
    members: String,
}

impl Branch {
    fn rev(&self, branch: u8) -> String {
        format!("{}-{branch}{:03}", self.generation, self.generation)
    }

    /// The leaf as a document that is replicated, behind the revision before it if that is there.
    fn text(&self, (id, branch): (u8, u8), with: &str, has_parent: bool) -> String {
        let (generation, before) = (self.generation, self.generation - 1);
        let parent = match has_parent && before > 0 {
            true => format!(",\"{branch}{before:03}\""),
            false => String::new(),
        };
        format!(
            r#"{{"_id":"d{id:02}","_rev":"{}","_deleted":{},"_revisions":{{"start":{generation},"ids":["{branch}{generation:03}"{parent}]}}{with}{}}}"#,
            self.rev(branch),
            self.deleted,
            self.members
        )
    }

    fn access(&self) -> String {
        let names: Vec<_> = self.names.iter().map(|&name| name.into()).collect();
        format!(
            ",\"_access\":{}",
            varve_json::to_string(&varve_json::Value::Array(names))
        )
    }
}

type Model = BTreeMap<u8, BTreeMap<u8, Branch>>;

/// Applies an edit to the model and to the database.
fn edit(db: &Database, model: &mut Model, step: &Step) {
    match step {
        Step::Put(id, branch, names, v, keys) => {
            let leaf = model.entry(*id).or_default().entry(*branch).or_default();
            leaf.generation += 1;
            leaf.deleted = false;
            leaf.names = names.iter().map(|name| NAMES[*name]).collect();
            leaf.members = format!(r#","v":{v},"keys":{keys:?}"#);
            common::replicate(db, &[leaf.text((*id, *branch), &leaf.access(), true)]);
        }
        Step::Delete(id, branch) => {
            let leaves = model.get_mut(id);
            if let Some(leaf) = leaves.and_then(|leaves| leaves.get_mut(branch)) {
                leaf.generation += 1;
                leaf.deleted = true;
                common::replicate(db, &[leaf.text((*id, *branch), &leaf.access(), true)]);
            }
        }
        Step::Purge(id) => {
            if let Some(leaves) = model.remove(id) {
                let revs = leaves
                    .iter()
                    .map(|(branch, leaf)| leaf.rev(*branch).parse().unwrap());
                db.purge(BTreeMap::from([(format!("d{id:02}"), revs.collect())]))
                    .unwrap();
            }
        }
        Step::Refresh | Step::Compact | Step::Reopen => {}
    }
}

/// A view over a database without access that has nothing but the leaves that these names see.
fn alone(model: &Model, names: &BTreeSet<&str>) -> IndexSnapshot {
    let db = database(memory());
    for (id, leaves) in model {
        for (branch, leaf) in leaves {
            if !leaf.names.is_disjoint(names) {
                common::replicate(&db, &[leaf.text((*id, *branch), "", false)]);
            }
        }
    }
    common::refresh(&common::open(memory(), DESIGN), &db)
}

fn check(index: &ViewIndex, db: &Database, model: &Model) {
    for (viewer, names) in viewers() {
        let own = refresh(index, db, &viewer);
        let expected = alone(model, &names);
        for question in QUESTIONS {
            let (own, expected) = (ask(&own, question), ask(&expected, question));
            assert_eq!(own.unwrap(), expected.unwrap(), "{question} by {names:?}");
        }
    }
}

/// How many items all trees of an index have together, as its compaction says.
fn items(index: &ViewIndex) -> u64 {
    #[derive(Default)]
    struct Total(AtomicU64);
    impl Progress for Total {
        fn begin(&self, _: &str, _: Unit, total: Option<u64>) {
            self.0.store(total.unwrap(), Relaxed);
        }
        fn advance(&self, _: u64) {}
        fn end(&self) {}
    }
    let total = Total::default();
    // The first one brings the changes of the memtable into the file.
    for _ in 0..2 {
        index.compact(&total, &Interrupt::default()).unwrap();
    }
    total.0.into_inner()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_users_view_is_that_of_the_documents_that_the_user_sees(
        steps in proptest::collection::vec(step(), 1..40),
        memtable in prop_oneof![Just(0), Just(1 << 20)],
    ) {
        let storage = memory();
        let db = with_access(Arc::clone(&storage));
        let mut index = open(Arc::clone(&storage), DESIGN, memtable);
        let mut model = Model::new();
        for step in steps {
            edit(&db, &mut model, &step);
            match step {
                Step::Refresh => check(&index, &db, &model),
                Step::Compact => index.compact(&Silent, &Interrupt::default()).unwrap(),
                Step::Reopen => index = open(Arc::clone(&storage), DESIGN, memtable),
                _ => {}
            }
        }
        check(&index, &db, &model);
        // To an admin it is the view that it would be without readers.
        let all = refresh(&index, &db, &Viewer::ALL);
        let plain = common::refresh(&common::open(memory(), DESIGN), &db);
        for question in QUESTIONS {
            prop_assert_eq!(ask(&all, question).unwrap(), ask(&plain, question).unwrap());
        }
        // Whatever led here, nothing is left of older rows.
        let anew = open(memory(), DESIGN, memtable);
        refresh(&anew, &db, &Viewer::ALL);
        prop_assert_eq!(items(&index), items(&anew));
    }
}

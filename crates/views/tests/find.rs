//! Queries by selector: every usable index finds the documents that a scan of all documents finds.

use crate::common::{database, open, put, refresh};
use proptest::prelude::*;
use std::sync::Arc;
use varve_base::{MemoryStorage, ReadMode, Storage};
use varve_docdb::{Database, DocumentText, Snapshot};
use varve_json::{Object, Value, parse, parse_object};
use varve_views::find::{
    Cursor, DEFAULT_LIMIT, FindError, FindOptions, FindStats, Hit, JsonIndex, NewIndex, Plan, Step,
    explain,
};
use varve_views::selector::Selector;
use varve_views::{IndexSnapshot, ViewError};

/// Definitions of indexes in the design document of the tests.
const INDEXES: [(&str, &str); 8] = [
    ("a", r#"{"fields":["a"]}"#),
    ("b", r#"{"fields":["b"]}"#),
    ("ab", r#"{"fields":["a","b"]}"#),
    ("ba", r#"{"fields":["b","a"]}"#),
    ("ax", r#"{"fields":["a.x"]}"#),
    ("id", r#"{"fields":["_id","a"]}"#),
    ("none", r#"{"fields":[]}"#),
    (
        "part",
        r#"{"fields":["a"],"partial_filter_selector":{"b":{"$exists":true}}}"#,
    ),
];

/// A database with documents and indexes.
struct World {
    database: Database,
    documents: Vec<Value>,
    indexes: Vec<JsonIndex>,
    view: IndexSnapshot,
}

fn object(text: &str) -> Object {
    parse_object(text.as_bytes()).unwrap()
}

fn design(indexes: &[(&str, &str)]) -> Object {
    let mut design = Object::new();
    for (name, definition) in indexes {
        let request = object(&format!("{{\"index\":{definition}}}"));
        let new = NewIndex::read(&request).unwrap();
        assert!(new.add_to(name, &mut design).unwrap());
    }
    design
}

impl World {
    fn new<S: AsRef<str>>(documents: &[S]) -> World {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        let database = database(Arc::clone(&storage));
        put(&database, documents);
        let design = design(&INDEXES);
        let index = open(
            storage,
            &varve_json::to_string(&Value::Object(design.clone())),
        );
        World {
            view: refresh(&index, &database),
            database,
            documents: documents
                .iter()
                .map(|text| parse(text.as_ref().as_bytes()).unwrap())
                .collect(),
            indexes: JsonIndex::of_design("_design/t", &design, false),
        }
    }

    fn plan(&self, options: &FindOptions) -> Result<Plan<'_>, FindError> {
        Plan::new(&self.indexes, options)
    }

    /// The found documents, their cost and the next bookmark.
    fn run(&self, options: &FindOptions) -> Result<(Vec<Value>, FindStats, String), ViewError> {
        self.run_in(ReadMode::Blocking, options)
    }

    fn run_in(
        &self,
        mode: ReadMode,
        options: &FindOptions,
    ) -> Result<(Vec<Value>, FindStats, String), ViewError> {
        let plan = self.plan(options)?;
        let snapshot = self.database.snapshot().with_mode(mode);
        let mut cursor = Cursor::new(&plan, options, &snapshot, Some(&self.view))?;
        let (mut found, mut out) = (Vec::new(), Vec::new());
        let read = |hit: &Hit, out: &mut Vec<u8>| read(&snapshot, hit, out);
        loop {
            match cursor.next(3, &mut out, read)? {
                Step::Found => found.push(parse(&out).unwrap()),
                Step::Paused => assert_eq!(out, b"", "nothing is appended"),
                Step::End => break,
            }
            out.clear();
        }
        let bookmark = varve_views::find::Bookmark::write(cursor.bookmark());
        Ok((found, cursor.stats(), bookmark))
    }

    fn find(&self, request: &str) -> Vec<Value> {
        self.run(&options(request)).unwrap().0
    }

    /// Ids of the found documents, one behind the other.
    fn ids(&self, request: &str) -> String {
        ids_of(&self.find(request)).join(" ")
    }
}

fn read(snapshot: &Snapshot, hit: &Hit, out: &mut Vec<u8>) -> Result<bool, ViewError> {
    let Some(document) = snapshot.document(&hit.id())? else {
        return Ok(false);
    };
    let (rev, stored) = document.winner().unwrap();
    let mut body = Vec::new();
    snapshot.body(stored, &mut body)?;
    DocumentText::begin(document.id(), rev, false, &body, out).end();
    Ok(true)
}

fn options(request: &str) -> FindOptions {
    FindOptions::read(&object(request), DEFAULT_LIMIT).unwrap()
}

fn ids_of(found: &[Value]) -> Vec<String> {
    let ids = found.iter().map(|document| document.get("_id").unwrap());
    ids.map(|id| id.as_str().unwrap().to_owned()).collect()
}

fn people() -> World {
    World::new(&[
        r#"{"_id":"ann","a":1,"b":"x"}"#,
        r#"{"_id":"bob","a":2,"b":"y"}"#,
        r#"{"_id":"cid","a":2,"b":"x"}"#,
        r#"{"_id":"dot","a":3}"#,
        r#"{"_id":"eve","a":[2,9],"b":null}"#,
        r#"{"_id":"fay","b":"x"}"#,
    ])
}

fn chosen(world: &World, request: &str) -> String {
    let options = options(request);
    let plan = world.plan(&options).unwrap();
    let name = plan.index.map_or("_all_docs", JsonIndex::name);
    format!("{name}{}", if plan.covering { " covers" } else { "" })
}

#[test]
fn the_index_is_chosen_as_documented() {
    let world = people();
    for (request, expected) in [
        (r#"{"selector":{"a":2}}"#, "a"),
        (r#"{"selector":{"a":2,"b":"x"}}"#, "ab"),
        // A range on one field ends the use of further fields.
        (r#"{"selector":{"a":{"$gt":1},"b":"x"}}"#, "ba"),
        (r#"{"selector":{"c":2}}"#, "none"),
        (r#"{"selector":{"a":2},"use_index":"t"}"#, "a"),
        (r#"{"selector":{"a":2,"b":1},"use_index":["t","b"]}"#, "b"),
        (
            r#"{"selector":{"a":2},"use_index":["_design/t","part"]}"#,
            "part",
        ),
        (r#"{"selector":{"a":2},"sort":["_id"]}"#, "id"),
        (r#"{"selector":{"c":2},"sort":["_id"]}"#, "_all_docs"),
        (r#"{"selector":{"a":2},"sort":["b"]}"#, "ab"),
        (r#"{"selector":{"a":{"$gt":0}},"sort":["b","a"]}"#, "ba"),
        (r#"{"selector":{"c":1},"sort":[{"b":"desc"}]}"#, "b"),
        (r#"{"selector":{"a":{"$in":[2]}}}"#, "a"),
        (r#"{"selector":{"$or":[{"a":1},{"a":2}]}}"#, "a"),
        (r#"{"selector":{"$or":[{"a":1},{"b":2}]}}"#, "none"),
        (r#"{"selector":{"a":2},"fields":["_id","a"]}"#, "a covers"),
        (r#"{"selector":{"a":2},"fields":["_id","b"]}"#, "a"),
        (
            r#"{"selector":{"a":2,"b":{"$type":"null"}},"fields":["b"],"use_index":["t","ab"]}"#,
            "ab covers",
        ),
    ] {
        assert_eq!(chosen(&world, request), expected, "{request}");
    }
}

#[test]
fn found_documents_come_by_key() {
    let world = people();
    for (request, expected) in [
        (r#"{"selector":{"a":2}}"#, "bob cid"),
        (r#"{"selector":{"a":{"$gte":2}}}"#, "bob cid dot eve"),
        (
            r#"{"selector":{"a":{"$gt":1}},"sort":[{"a":"desc"}]}"#,
            "eve dot cid bob",
        ),
        (
            r#"{"selector":{"a":{"$gt":1}},"sort":[{"a":"desc"}],"skip":1,"limit":2}"#,
            "dot cid",
        ),
        (r#"{"selector":{"a":2},"sort":["b"]}"#, "cid bob"),
        (r#"{"selector":{"a":{"$in":[9,1]}}}"#, "ann eve"),
        (
            r#"{"selector":{"$or":[{"a":3},{"a":{"$lt":2}}]}}"#,
            "ann dot",
        ),
        (
            r#"{"selector":{"c":{"$exists":false},"_id":{"$gt":"d"}}}"#,
            "dot eve fay",
        ),
        (r#"{"selector":{"b":"x","a":{"$exists":false}}}"#, "fay"),
        (
            r#"{"selector":{"a":{"$gt":0}},"use_index":["t","part"]}"#,
            "ann bob cid eve",
        ),
        (r#"{"selector":{"a":{"$gt":1,"$lt":1}}}"#, ""),
        (r#"{"selector":{},"limit":0}"#, ""),
    ] {
        assert_eq!(world.ids(request), expected, "{request}");
    }
}

#[test]
fn only_ranges_that_can_hold_results_are_read() {
    let world = people();
    for (request, keys, documents) in [
        (r#"{"selector":{"a":2}}"#, 2, 2),
        (r#"{"selector":{"a":{"$in":[1,3]}}}"#, 3, 3),
        (r#"{"selector":{"$or":[{"a":1},{"a":3}]}}"#, 2, 2),
        (
            r#"{"selector":{"$or":[{"a":1,"b":"x"},{"a":2,"b":"x"}]}}"#,
            2,
            2,
        ),
        (r#"{"selector":{"a":{"$gt":1}},"fields":["a"]}"#, 4, 0),
        (r#"{"selector":{"b":{"$beginsWith":"x"}}}"#, 3, 3),
        (
            r#"{"selector":{"_id":{"$in":["ann","bob","zoe"]}},"sort":["_id"]}"#,
            2,
            2,
        ),
        (
            r#"{"selector":{"_id":{"$beginsWith":"b"}},"sort":["_id"]}"#,
            1,
            1,
        ),
        (r#"{"selector":{"b":1,"b":2}}"#, 0, 0),
    ] {
        let (_, stats, _) = world.run(&options(request)).unwrap();
        assert_eq!(
            (stats.keys, stats.documents),
            (keys, documents),
            "{request}"
        );
    }
}

#[test]
fn queries_that_no_index_answers_are_refused_or_warned_about() {
    let world = people();
    let refused = |request| {
        let error = world.plan(&options(request)).unwrap_err();
        format!("{}: {error}", error.name())
    };
    let sort = "no_usable_index: No index exists for this sort, try indexing by the sort fields.";
    assert_eq!(refused(r#"{"selector":{"a":1},"sort":["zz"]}"#), sort);
    assert_eq!(
        refused(r#"{"selector":{"a":{"$gt":1}},"sort":["b","zz"]}"#),
        sort
    );
    let none = r#"{"selector":{"a":1},"use_index":"zz","allow_fallback":false}"#;
    assert!(refused(none).contains("no index available"));
    let scan = r#"{"selector":{"c":1},"sort":["_id"],"allow_fallback":false}"#;
    assert!(refused(scan).contains("no index available"));
    let warnings = |request| world.plan(&options(request)).unwrap().warnings.join("\n");
    assert_eq!(
        warnings(r#"{"selector":{"c":1},"sort":["_id"],"use_index":["d","v"]}"#),
        "_design/d, v was not used because it is not a valid index for this query.\n\
         No matching index found, create an index to optimize query time."
    );
    assert_eq!(warnings(r#"{"selector":{"a":1}}"#), "");
    let other = world
        .run(&options(r#"{"selector":{"a":1},"limit":1}"#))
        .unwrap()
        .2;
    let request = format!(r#"{{"selector":{{"c":1}},"sort":["_id"],"bookmark":"{other}"}}"#);
    let error = world.run(&options(&request)).unwrap_err();
    assert!(matches!(error, ViewError::Find(FindError::Value { .. })));
}

#[test]
fn explanations_name_the_reasons() {
    let world = people();
    let request = r#"{"selector":{"a":2,"b":{"$in":["x"]},"c":{"$size":1}},"sort":[{"a":"desc"}]}"#;
    let options = options(request);
    let plan = world.plan(&options).unwrap();
    let told = explain("db", &plan, &options);
    let mut reasons = Vec::new();
    for candidate in told.get("index_candidates").unwrap().as_array().unwrap() {
        let name = candidate.get("index").unwrap().get("name").unwrap();
        let analysis = candidate.get("analysis").unwrap();
        for reason in analysis.get("reasons").unwrap().as_array().unwrap() {
            let reason = reason.get("name").unwrap().as_str().unwrap();
            reasons.push(format!("{} {reason}", name.as_str().unwrap()));
        }
    }
    let expected = [
        "a less_overlap",
        "b sort_order_mismatch",
        "ba sort_order_mismatch",
        "ax field_mismatch",
        "ax sort_order_mismatch",
        "id sort_order_mismatch",
        "none sort_order_mismatch",
        "part is_partial",
        "_all_docs sort_order_mismatch",
    ];
    assert_eq!(reasons, expected);
    let query = varve_json::to_string(told.get("mrargs").unwrap());
    assert!(
        query.contains(r#""start_key":[2,"<MAX>"],"end_key":[2,"x"]"#),
        "{query}"
    );
    let hints = varve_json::to_string(told.get("selector_hints").unwrap());
    assert!(hints.contains(r#""indexable_fields":["a","b"],"unindexable_fields":["c"]"#));
}

#[test]
fn indexes_are_taken_out_and_put_in() {
    let mut document = object(r#"{"_id":"_design/t"}"#);
    let new = |text: &str| NewIndex::read(&object(text)).unwrap();
    let index =
        new(r#"{"index":{"fields":["a",{"b":"asc"}]},"name":"n","ddoc":"t","type":"json"}"#);
    assert_eq!(index.design.as_deref(), Some("_design/t"));
    assert!(index.add_to("n", &mut document).unwrap());
    assert!(!index.add_to("n", &mut document).unwrap());
    let text = varve_json::to_string(&Value::Object(document));
    let expected = r#"{"_id":"_design/t","language":"query","views":{"n":{"map":{"fields":{"a":"asc","b":"asc"},"partial_filter_selector":{}},"reduce":"_count","options":{"def":{"fields":["a",{"b":"asc"}]}}}}}"#;
    assert_eq!(text, expected);
    let mut script = object(r#"{"language":"javascript"}"#);
    let found = "\"javascript\"".to_owned();
    let refused = Err(FindError::DesignLanguage { found });
    assert_eq!(index.add_to("n", &mut script), refused);
    for (request, word) in [
        ("{}", "missing_required_key"),
        (r#"{"index":{}}"#, "missing_required_key"),
        (r#"{"index":1}"#, "invalid_index"),
        (r#"{"index":{"fields":[]},"x":1}"#, "invalid_key"),
        (r#"{"index":{"fields":[],"x":1}}"#, "invalid_key"),
        (r#"{"index":{"fields":[]},"name":1}"#, "invalid_string"),
        (r#"{"index":{"fields":[]},"type":"x"}"#, "invalid_index"),
        (
            r#"{"index":{},"type":"text"}"#,
            "required_index_service_unavailable",
        ),
        (
            r#"{"index":{"fields":[],"partial_filter_selector":1}}"#,
            "invalid_selector_json",
        ),
    ] {
        let error = NewIndex::read(&object(request)).unwrap_err();
        assert_eq!(error.name(), word, "{request}");
    }
}

fn scalar() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "null",
        "false",
        "true",
        "-1",
        "0",
        "1",
        "1.5",
        "2",
        r#""""#,
        r#""a""#,
        r#""ab""#,
        r#""A""#,
        r#""b""#,
        r#""aé""#,
        r#""é""#,
        r#""l""#,
        r#""l·x""#,
        r#""a\uffff""#,
        r#""a b""#,
    ])
}

fn value() -> impl Strategy<Value = String> {
    let list = |items: Vec<&str>| format!("[{}]", items.join(","));
    prop_oneof![
        6 => scalar().prop_map(str::to_owned),
        1 => prop::collection::vec(scalar(), 0..3).prop_map(list),
        1 => scalar().prop_map(|inner| format!("{{\"x\":{inner}}}")),
        1 => Just("{}".to_owned()),
    ]
}

fn document() -> impl Strategy<Value = String> {
    let member = || prop::option::weighted(0.8, value());
    (member(), member(), member()).prop_map(|members| {
        let named = [("a", members.0), ("b", members.1), ("c", members.2)];
        let present = named
            .into_iter()
            .filter_map(|(name, value)| value.map(|value| format!("\"{name}\":{value}")));
        present.collect::<Vec<_>>().join(",")
    })
}

fn condition() -> impl Strategy<Value = String> {
    let relation = prop::sample::select(vec!["$eq", "$ne", "$lt", "$lte", "$gt", "$gte"]);
    let list = || prop::collection::vec(value(), 0..4).prop_map(|items| items.join(","));
    prop_oneof![
        6 => (relation, value()).prop_map(|(name, value)| format!("{{\"{name}\":{value}}}")),
        2 => list().prop_map(|items| format!("{{\"$in\":[{items}]}}")),
        1 => list().prop_map(|items| format!("{{\"$nin\":[{items}]}}")),
        1 => list().prop_map(|items| format!("{{\"$all\":[{items}]}}")),
        2 => prop::sample::select(vec!["", "a", "l", "é", "A", "a b"])
            .prop_map(|prefix| format!("{{\"$beginsWith\":\"{prefix}\"}}")),
        1 => any::<bool>().prop_map(|exists| format!("{{\"$exists\":{exists}}}")),
        1 => Just(r#"{"$type":"string"}"#.to_owned()),
        1 => Just(r#"{"$regex":"^[a-l]"}"#.to_owned()),
        1 => value().prop_map(|value| format!("{{\"$elemMatch\":{{\"$eq\":{value}}}}}")),
        1 => (value(), value()).prop_map(|(low, high)| format!("{{\"$gte\":{low},\"$lt\":{high}}}")),
    ]
}

fn selector() -> impl Strategy<Value = String> {
    let field = || prop::sample::select(vec!["a", "a", "b", "b", "a.x", "c"]);
    let id = prop::sample::select(vec![
        r#"{"_id":{"$gt":null}}"#,
        r#"{"_id":{"$gte":"d1"}}"#,
        r#"{"_id":{"$in":["d0","d1","x",3]}}"#,
        r#"{"_id":{"$beginsWith":"d"}}"#,
    ]);
    let leaf = prop_oneof![
        10 => (field(), condition()).prop_map(|(name, test)| format!("{{\"{name}\":{test}}}")),
        1 => id.prop_map(str::to_owned),
    ];
    leaf.prop_recursive(3, 12, 3, move |inner| {
        let several = prop::collection::vec(inner.clone(), 0..4);
        let name = prop::sample::select(vec!["$and", "$and", "$or", "$or", "$nor"]);
        prop_oneof![
            4 => (name, several)
                .prop_map(|(name, each)| format!("{{\"{name}\":[{}]}}", each.join(","))),
            1 => inner.prop_map(|inner| format!("{{\"$not\":{inner}}}")),
        ]
    })
}

/// Asks every index that can be used, also in pages and for covered fields.
fn check(world: &World, selector: &str) {
    let compiled = Selector::compile(&parse(selector.as_bytes()).unwrap()).unwrap();
    let passing = world
        .documents
        .iter()
        .filter(|document| compiled.matches(document));
    let mut expected = ids_of(&passing.cloned().collect::<Vec<_>>());
    expected.sort();
    let names = INDEXES
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| *name != "part");
    for index in names.map(Some).chain([None]) {
        let which = match index {
            Some(name) => format!(r#""use_index":["t","{name}"],"allow_fallback":false"#),
            None => r#""sort":["_id"]"#.to_owned(),
        };
        for fields in ["[]", r#"["_id"]"#, r#"["_id","a","b"]"#] {
            let base = format!(r#""selector":{selector},"fields":{fields},{which}"#);
            let whole = options(&format!("{{{base},\"limit\":1000}}"));
            if let Err(FindError::NoIndex) = world.plan(&whole) {
                continue;
            }
            let found = world.run(&whole).unwrap().0;
            let mut ids = ids_of(&found);
            let mut paged = Vec::new();
            let mut bookmark = "nil".to_owned();
            loop {
                let page = format!("{{{base},\"limit\":2,\"bookmark\":\"{bookmark}\"}}");
                let (page, _, next) = world.run(&options(&page)).unwrap();
                if page.is_empty() {
                    break;
                }
                paged.extend(page);
                bookmark = next;
            }
            assert_eq!(found, paged, "{selector} {which} {fields}");
            ids.sort();
            assert_eq!(ids, expected, "{selector} {which} {fields}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_index_finds_what_a_look_at_all_finds(
        documents in prop::collection::vec(document(), 0..14),
        selectors in prop::collection::vec(selector(), 1..24),
    ) {
        let documents: Vec<_> = documents
            .iter()
            .enumerate()
            .map(|(number, members)| {
                let comma = if members.is_empty() { "" } else { "," };
                format!("{{\"_id\":\"d{number}\"{comma}{members}}}")
            })
            .collect();
        let world = World::new(&documents);
        for selector in &selectors {
            check(&world, selector);
        }
    }
}

/// These take minutes where each part of a query is compared with each other.
#[test]
fn long_queries_take_their_length_in_time() {
    const MANY: usize = 75_000;
    let list = |item: &dyn Fn(usize) -> String| {
        let items: Vec<_> = (0..MANY).map(item).collect();
        items.join(",")
    };
    let world = World::new(&[format!(
        r#"{{"_id":"d","a":[{}],"o":{{{}}}}}"#,
        list(&|n| n.to_string()),
        list(&|n| format!("\"f{n}\":{n}")),
    )]);
    let ask = |query: String| FindOptions::read(&object(&query), DEFAULT_LIMIT).unwrap();

    let fields = list(&|n| format!("\"f{n}\":{n}"));
    let sort = list(&|n| format!("\"s{n}\""));
    let options = ask(format!(r#"{{"selector":{{{fields}}},"sort":[{sort}]}}"#));
    assert_eq!(world.plan(&options).unwrap_err(), FindError::NoSort);
    let options = ask(format!(r#"{{"selector":{{{fields},"z":{{"$ne":1}}}}}}"#));
    let told = explain("db", &world.plan(&options).unwrap(), &options);
    let hints = &told.get("selector_hints").unwrap().as_array().unwrap()[0];
    let count = |name| hints.get(name).and_then(Value::as_array).unwrap().len();
    assert_eq!(
        (count("indexable_fields"), count("unindexable_fields")),
        (MANY, 1)
    );

    let shown = list(&|n| format!("\"o.f{n}\""));
    let values = list(&|n| n.to_string());
    let above = list(&|n| format!(r#"{{"a":{{"$gt":-{n}}}}}"#));
    let below = list(&|n| format!(r#"{{"o.f{n}":-1}}"#));
    for selector in [
        format!(r#"{{"a":{{"$in":[{values}]}}}}"#),
        format!(r#"{{"a":{{"$all":[{values}]}}}}"#),
        format!(r#"{{"a":{{"$in":[{values}]}},"$and":[{above}]}}"#),
        format!(r#"{{"$or":[{below},{{"_id":"d"}}]}}"#),
    ] {
        let options = ask(format!(r#"{{"selector":{selector},"fields":[{shown}]}}"#));
        let (found, _, _) = world.run(&options).unwrap();
        let of = found[0].get("o").and_then(Value::as_object).unwrap();
        assert_eq!(of.len(), MANY);
    }
}

#[test]
fn a_cached_query_reads_few_rows_and_short_documents() {
    let documents: Vec<String> = (0..600)
        .map(|n| format!(r#"{{"_id":"d{n:03}","a":{n}}}"#))
        .collect();
    let world = World::new(&documents);
    // The last one is found after all documents, or after as many rows of the index as there are
    // below it.
    for (selector, is_few) in [
        (r#"{"a":{"$gt":150}}"#, true),
        (r#"{"a":{"$gt":10},"c":{"$exists":true}}"#, false),
        (r#"{"_id":{"$gt":null},"c":{"$exists":true}}"#, false),
    ] {
        let options = options(&format!(r#"{{"selector":{selector},"limit":400}}"#));
        let blocking = world.run(&options).unwrap();
        match world.run_in(ReadMode::CachedOnly, &options) {
            Ok(cached) => {
                assert!(is_few, "{selector}");
                assert_eq!(cached.0, blocking.0, "{selector}");
            }
            Err(error) => assert!(!is_few && error.is_would_block(), "{selector}: {error}"),
        }
    }
    let long = format!(
        r#"{{"_id":"long","a":1,"text":"{}"}}"#,
        "x".repeat(65 << 10)
    );
    let world = World::new(&[long]);
    let options = options(r#"{"selector":{"a":1}}"#);
    assert_eq!(world.run(&options).unwrap().0.len(), 1);
    let refused = world.run_in(ReadMode::CachedOnly, &options).unwrap_err();
    assert!(refused.is_would_block(), "{refused}");
}

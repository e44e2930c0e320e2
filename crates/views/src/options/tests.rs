use super::*;

fn refusal(pairs: &[(&str, &str)], can_reduce: bool) -> String {
    let options = QueryOptions::from_query(pairs.iter().copied());
    let checked = options.and_then(|options| options.check_for_view(can_reduce, Order::Collated));
    let error = checked.unwrap_err();
    format!("{}: {error}", error.name())
}

/// Exchanges 82, 83, 85, 117, 118, 125, 126, 135, 139 and 140 as recorded.
#[test]
fn refusals_are_those_that_were_recorded() {
    let range = "query_parse_error: No rows can match your key range, reverse your start_key \
                 and end_key or set descending=";
    type Case<'a> = (&'a [(&'a str, &'a str)], bool, &'a str);
    let cases: &[Case<'_>] = &[
        (
            &[("limit", "abc")],
            false,
            "query_parse_error: Invalid value for integer: \"abc\"",
        ),
        (
            &[("startkey", "abc")],
            false,
            "bad_request: invalid UTF-8 JSON",
        ),
        (
            &[("limit", "-1")],
            false,
            "query_parse_error: Invalid value for positive integer: \"-1\"",
        ),
        (
            &[("skip", "-1")],
            false,
            "query_parse_error: Invalid value for positive integer: \"-1\"",
        ),
        (
            &[("reduce", "true")],
            false,
            "query_parse_error: Reduce is invalid for map-only views.",
        ),
        (
            &[("group", "true")],
            false,
            "query_parse_error: Invalid use of grouping on a map view.",
        ),
        (
            &[("include_docs", "true")],
            true,
            "query_parse_error: `include_docs` is invalid for reduce",
        ),
        (
            &[("keys", "[1]")],
            true,
            "query_parse_error: Multi-key fetches for reduce views must use `group=true`",
        ),
        (
            &[("stale", "x")],
            false,
            "query_parse_error: Invalid value for `stale`.",
        ),
        (
            &[("descending", "1")],
            false,
            "query_parse_error: Invalid boolean parameter: \"1\"",
        ),
        (
            &[("keys", "1")],
            false,
            "bad_request: `keys` parameter must be an array.",
        ),
    ];
    for (pairs, can_reduce, expected) in cases {
        assert_eq!(&refusal(pairs, *can_reduce), expected);
    }
    let wrong = [("startkey", "2"), ("endkey", "1")];
    assert_eq!(refusal(&wrong, false), format!("{range}true"));
    let down = [("startkey", "1"), ("endkey", "2"), ("descending", "true")];
    assert_eq!(refusal(&down, false), format!("{range}false"));
}

/// Exchange 145, and CouchDB's order of body and query string.
#[test]
fn what_is_set_later_counts_more() {
    let mut options = QueryOptions::default();
    let body = varve_json::parse_object(br#"{"limit":2,"keys":["a"],"key":[1],"x":{}}"#);
    options.set_body(&body.unwrap()).unwrap();
    options
        .set_query([("limit", "1"), ("group", "true")])
        .unwrap();
    assert_eq!(options.limit, Some(1));
    assert_eq!(options.keys, Some(vec![Value::from("a")]));
    assert_eq!(options.start_key, options.end_key);
    let body = varve_json::parse_object(br#"{"keys":1}"#).unwrap();
    let error = options.set_body(&body).unwrap_err();
    assert_eq!(error.name(), "bad_request");
    assert_eq!(error.to_string(), "`keys` member must be an array.");
}

/// In the order in which CouchDB's `couch_mrview_util:validate_args` looks at them.
#[test]
fn of_several_refusals_couchdb_s_is_given() {
    let words = |pairs: &[(&str, &str)], can_reduce| {
        let words = refusal(pairs, can_reduce);
        words
            .strip_prefix("query_parse_error: ")
            .unwrap()
            .to_owned()
    };
    let all = [
        ("group", "false"),
        ("group_level", "1"),
        ("reduce", "true"),
        ("keys", "[1]"),
        ("startkey", "2"),
        ("endkey", "1"),
        ("include_docs", "true"),
        ("conflicts", "false"),
    ];
    let level = "Can't specify group=false and group_level>0 at the same time";
    assert_eq!(words(&all, true), level);
    assert_eq!(words(&all, false), level);
    assert_eq!(
        words(&all[1..], false),
        "Reduce is invalid for map-only views."
    );
    let multi = "Multi-key fetches for reduce views must use `group=true`";
    assert_eq!(words(&all[1..], true), multi);
    let keys = "`keys` is incompatible with `key`, `start_key` and `end_key`";
    assert_eq!(words(&[("group", "true"), all[3], all[5]], true), keys);
    assert_eq!(words(&[all[1], all[3], all[5]], false), keys);
    let docs = "`include_docs` is invalid for reduce";
    assert_eq!(words(&all[4..], true), docs);
    let conflicts = "`conflicts` is invalid for reduce views.";
    assert_eq!(words(&[all[4], all[5], all[7]], true), conflicts);
    assert!(words(&all[4..6], true).starts_with("No rows can match your key range"));
}

#[test]
fn a_level_goes_before_whole_keys_in_either_order() {
    for (group, level, expected) in [
        ("true", "2", Grouping::Level(2)),
        ("true", "0", Grouping::None),
        ("false", "0", Grouping::None),
    ] {
        let mut pairs = [("group", group), ("group_level", level)];
        for _ in 0..2 {
            let options = QueryOptions::from_query(pairs).unwrap();
            assert_eq!(options.grouping, expected, "{pairs:?}");
            assert_eq!(options.check_for_view(true, Order::Collated), Ok(()));
            pairs.reverse();
        }
    }
    // No keys are no restriction of a range.
    let none = QueryOptions::from_query([("keys", "[]"), ("startkey", "1")]).unwrap();
    assert_eq!(none.check_for_view(false, Order::Collated), Ok(()));
}

#[test]
fn every_option_arrives() {
    let pairs = [
        ("start_key", "[1]"),
        ("end_key", "{}"),
        ("startkey_docid", "a"),
        ("endkey_docid", "b"),
        ("inclusive_end", "false"),
        ("limit", "3"),
        ("skip", "4"),
        ("group_level", "2"),
        ("reduce", "true"),
        ("update", "lazy"),
        ("update_seq", "true"),
        ("sorted", "false"),
        ("unknown", "?"),
    ];
    let expected = QueryOptions {
        start_key: parse(b"[1]").ok(),
        end_key: parse(b"{}").ok(),
        start_doc: Some("a".to_owned()),
        end_doc: Some("b".to_owned()),
        inclusive_end: false,
        limit: Some(3),
        skip: 4,
        grouping: Grouping::Level(2),
        group_level: Some(2),
        reduce: Some(true),
        update: Update::After,
        update_seq: true,
        sorted: false,
        ..QueryOptions::default()
    };
    let options = QueryOptions::from_query(pairs).unwrap();
    assert_eq!(options, expected);
    assert_eq!(options.check_for_view(true, Order::Collated), Ok(()));
}

use super::*;
use crate::tree::{Infix, Postfix, Prefix};
use proptest::prelude::*;

fn printed(query: &str) -> String {
    parse(query.as_bytes(), &|_| false).unwrap().to_string()
}

fn error(query: &str) -> (Option<usize>, String) {
    match parse(query.as_bytes(), &|_| false).unwrap_err() {
        RevsetError::Parse { message, at, .. } => (at, message),
        other => panic!("{other}"),
    }
}

#[test]
fn operators_bind_as_in_mercurial() {
    for (query, expected) in [
        ("a or b and not c", "(a or (b and (not c)))"),
        ("a+b|c", "(a or b or c)"),
        ("a - b & c", "((a - b) and c)"),
        ("1^2~3", "((1^2)~3)"),
        ("x^^:y", "(((x^)^):y)"),
        ("x^::y..", "(((x^)::y)::)"),
        (":", "(:)"),
        ("::a:b", "((::a):b)"),
        ("a::", "(a::)"),
        ("-1:0", "((-1):0)"),
        ("f(a, b=c, \"d\")", "f(a, b=c, \"d\")"),
        ("a % b", "(a % b)"),
        ("a%", "(a%)"),
        ("not a:b", "(not (a:b))"),
        ("a ## b:c", "(\"ab\":c)"),
        ("f((a, b), ())", "f(a, b, ())"),
        ("x#g[2]", "descendants(x, startdepth=2, depth=2)"),
        (
            "x#generations[-3:-1]",
            "ancestors(x, startdepth=1, depth=3)",
        ),
        ("x#g[1:-1]", "none()"),
    ] {
        assert_eq!(printed(query), expected, "{query}");
    }
}

#[test]
fn errors_are_placed_as_in_mercurial() {
    for (query, at, message) in [
        ("foo(", Some(4), "not a prefix: end"),
        ("0 and", Some(5), "not a prefix: end"),
        ("and", Some(0), "not a prefix: and"),
        ("(0", Some(2), "unexpected token: end"),
        ("0)", Some(1), "invalid token"),
        ("a b", Some(2), "invalid token"),
        ("\"abc", Some(1), "unterminated string"),
        ("", None, "empty query"),
        ("0 ! 1", Some(2), "not an infix: !"),
        ("%", Some(0), "not a prefix: %"),
        ("f(1)[0]", None, "can't use a subscript in this context"),
        ("x#nope[0]", None, "unknown identifier: nope"),
        (
            "x#g[y]",
            None,
            "relation subscript must be an integer or a range",
        ),
        (
            "x#g[y:z]",
            None,
            "relation subscript bounds must be integers",
        ),
        (
            "1 ## (2)",
            None,
            "\"##\" can't concatenate \"group\" element",
        ),
        ("[0]", Some(0), "not a prefix: ["),
        (".#rel[0", Some(7), "unexpected token: end"),
        ("$x", Some(0), "syntax error in revset '$x'"),
        ("foo[0]", None, "can't use a subscript in this context"),
        ("modifies(a", Some(10), "unexpected token: end"),
    ] {
        assert_eq!(error(query), (at, message.to_owned()), "{query}");
    }
}

#[test]
fn depth_is_bounded_but_alternatives_are_not() {
    for deep in ["(".repeat(100_000), "not ".repeat(100_000), "a^".repeat(9)] {
        let _ = parse(deep.as_bytes(), &|_| false);
    }
    let chain = format!("a{}", "^".repeat(5_000));
    assert_eq!(error(&chain).1, "query is nested too deeply");
    let many = vec!["a"; 5_000].join(" or ");
    assert!(matches!(parse(many.as_bytes(), &|_| false), Ok(Expr::Or(all)) if all.len() == 5_000));
}

fn tree() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        "[a-z0-9_.@]{1,4}"
            .prop_filter("a symbol", |text| is_plain_symbol(text.as_bytes()))
            .prop_map(|text| Expr::Symbol(text.into_bytes())),
        proptest::collection::vec(any::<u8>(), 0..4).prop_map(Expr::Text),
        Just(Expr::Whole(RangeKind::Descent)),
    ];
    leaf.prop_recursive(5, 40, 3, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let range = prop_oneof![Just(RangeKind::Numbers), Just(RangeKind::Descent)];
        let prefix = prop_oneof![
            Just(Prefix::Not),
            Just(Prefix::Minus),
            range.clone().prop_map(Prefix::Upto)
        ];
        let postfix = prop_oneof![
            Just(Postfix::Parent),
            Just(Postfix::Only),
            range.clone().prop_map(Postfix::From)
        ];
        let infix = prop_oneof![
            Just(Infix::Parent),
            Just(Infix::Ancestor),
            Just(Infix::And),
            Just(Infix::Minus),
            Just(Infix::Only),
            range.prop_map(Infix::Between)
        ];
        let list = proptest::collection::vec(inner.clone(), 0..3);
        prop_oneof![
            (prefix, boxed.clone()).prop_map(|(o, x)| Expr::Prefix(o, x)),
            (postfix, boxed.clone()).prop_map(|(o, x)| Expr::Postfix(o, x)),
            (infix, boxed.clone(), boxed).prop_map(|(o, x, y)| Expr::Infix(o, x, y)),
            (inner.clone(), inner).prop_map(|(x, y)| Expr::or(x, y)),
            list.prop_map(|items| Expr::Call(b"f".to_vec(), items)),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_printed_is_parsed_to_the_same_tree(tree in tree()) {
        let printed = tree.to_string();
        prop_assert_eq!(parse(printed.as_bytes(), &|_| false).unwrap(), tree, "{}", printed);
    }
}

/// The tokens of a query, each with its position.
fn names(query: &str) -> Vec<String> {
    let mut grammar = RevsetGrammar {
        cursor: Cursor::new(query.as_bytes()),
        is_name: &|name| name == b"a-name",
        in_alias: false,
        queue: VecDeque::new(),
    };
    let mut found = Vec::new();
    loop {
        let (at, token) = grammar.next_token(0).unwrap();
        found.push(match &token {
            Token::Operand { tree, .. } => format!("{at}{}", lower(&tree.root).unwrap()),
            other => format!("{at}{}", other.name()),
        });
        if token == Token::End {
            return found;
        }
    }
}

/// Whether the bytes are read as one symbol.
fn is_plain_symbol(text: &[u8]) -> bool {
    parse(text, &|_| false).is_ok_and(|tree| tree == Expr::Symbol(text.to_vec()))
}

#[test]
fn names_strings_and_operators_are_told_apart() {
    assert_eq!(names("a-name-b"), ["0a", "1-", "2name", "6-", "7b", "8end"]);
    assert_eq!(names("a-name"), ["0a-name", "6end"]);
    assert_eq!(names("1.2..3"), ["01.2", "3..", "53", "6end"]);
    assert_eq!(names("not x/y"), ["0not", "4x/y", "7end"]);
    assert_eq!(
        names(r#"'\x41\n' r"\x""#),
        [r#"1"A\x0a""#, r#"11"\x5cx""#, "14end"]
    );
    assert_eq!(names("::."), ["0::", "2.", "3end"]);
}

/// Recorded from `revsetlang.parse` of Mercurial 7.2.4.
#[test]
fn the_first_error_is_reported() {
    for (query, at, message) in [
        ("a b $", Some(2), "invalid token"),
        ("a r'b'", Some(4), "invalid token"),
        ("a $", Some(2), "syntax error in revset 'a $'"),
        ("a not b", Some(2), "not an infix: not"),
        ("a or or b", Some(5), "not a prefix: or"),
        ("=", Some(0), "not a prefix: ="),
        ("a(,)", Some(2), "not a prefix: ,"),
        (")", Some(0), "not a prefix: )"),
        ("a]", Some(1), "invalid token"),
        ("'\\x4'", None, "invalid \\x escape at position 0"),
    ] {
        assert_eq!(error(query), (at, message.to_owned()), "{query}");
    }
}

#[test]
fn the_written_tree_is_printed_as_by_mercurial() {
    let tree = parse_syntax(b"(a|b) - f(x, '\\n') and :#g[-1]", &|_| false).unwrap();
    let expected = "(and\n  (minus\n    (group\n      (or\n        (list\n          (symbol 'a')\n          \
         (symbol 'b'))))\n    (func\n      (symbol 'f')\n      (list\n        (symbol 'x')\n        \
         (string '\\n'))))\n  (relsubscript\n    (rangeall\n      None)\n    (symbol 'g')\n    (negate\n      \
         (symbol '1'))))";
    assert_eq!(tree.to_string(), expected);
}

use super::*;

fn error(text: &str) -> (Option<usize>, String) {
    let error = parse(text.as_bytes()).unwrap_err();
    (error.at, error.message)
}

#[test]
fn errors_are_placed_as_in_mercurial() {
    for (text, at, message) in [
        ("", Some(0), "not a prefix: end"),
        ("(", Some(1), "not a prefix: end"),
        ("(m", Some(2), "unexpected token: end"),
        ("a b", Some(2), "invalid token"),
        ("m)", Some(1), "invalid token"),
        ("m,", Some(2), "not a prefix: end"),
        ("path:", Some(5), "not a prefix: end"),
        ("\"a", Some(1), "unterminated string"),
        ("$x", Some(0), "syntax error"),
        ("(m|c)(x)", None, "not a symbol"),
    ] {
        assert_eq!(error(text), (at, message.to_owned()), "{text}");
    }
}

#[test]
fn operators_bind_as_in_mercurial() {
    let symbol = |name: &str| Box::new(Expr::Symbol(name.as_bytes().to_vec()));
    let tree = parse(b"! m & a or d/*.c").unwrap();
    let and = Expr::And(Box::new(Expr::Not(symbol("m"))), symbol("a"));
    assert_eq!(tree, Expr::Or(vec![and, *symbol("d/*.c")]));
    let tree = parse(b"path:'a b'").unwrap();
    assert_eq!(tree, Expr::Kind(b"path".to_vec(), b"a b".to_vec()));
}

#[test]
fn depth_is_bounded_but_alternatives_are_not() {
    assert!(parse("(".repeat(10_000).as_bytes()).is_err());
    assert!(parse(format!("a{}", "&a".repeat(10_000)).as_bytes()).is_err());
    assert!(parse(format!("a{}", "|a".repeat(10_000)).as_bytes()).is_ok());
}

/// Recorded from `filesetlang.parse` of Mercurial 7.2.4.
#[test]
fn the_first_error_is_reported() {
    for (text, at, message) in [
        ("a b $", Some(2), "invalid token"),
        ("a 'b'", Some(3), "invalid token"),
        ("a $x", Some(2), "syntax error"),
        ("a not b", Some(2), "not an infix: not"),
        ("not", Some(3), "not a prefix: end"),
        (":a", Some(0), "not a prefix: :"),
        ("a(,)", Some(2), "not a prefix: ,"),
        ("a(b,)", Some(4), "not a prefix: )"),
        ("'\\x4'", None, "invalid \\x escape at position 0"),
        ("()", None, "missing argument"),
    ] {
        assert_eq!(error(text), (at, message.to_owned()), "{text}");
    }
}

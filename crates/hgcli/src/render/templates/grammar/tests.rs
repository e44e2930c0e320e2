use super::*;

fn error(text: &str) -> (Option<usize>, String) {
    match parse(text.as_bytes()).unwrap_err() {
        Abort::Parse { message, at, .. } => (at, message),
        other => panic!("{other}"),
    }
}

/// Recorded from `templater.parse` and `templater.compileexp` of Mercurial 7.2.4.
#[test]
fn errors_are_placed_as_in_mercurial() {
    for (text, at, message) in [
        ("{a b", Some(3), "invalid token"),
        ("{a $}", Some(3), "syntax error"),
        ("{a", Some(1), "unterminated template expansion"),
        ("{f(a", Some(1), "unterminated template expansion"),
        ("{'a{b", Some(4), "unterminated template expansion"),
        ("{'a{b'}", Some(6), "unterminated string"),
        ("{'x}", Some(2), "unterminated string"),
        ("{r'", Some(3), "unterminated string"),
        ("{}", Some(1), "not a prefix: end"),
        ("{a|}", Some(3), "not a prefix: end"),
        ("{f(a,)}", Some(5), "not a prefix: )"),
        ("{%}", Some(1), "not a prefix: %"),
        ("{f(a}", Some(4), "unexpected token: end"),
        ("{f(a b)}", Some(5), "unexpected token: symbol"),
        ("{2a}", Some(2), "invalid token"),
        ("{'a' 'b'}", Some(6), "invalid token"),
        ("ab{c}de\\x4", None, "invalid \\x escape at position 2"),
        ("\\", None, "trailing \\ in string"),
        ("{()}", None, "missing argument"),
        ("{a.1}", None, "expected a symbol, got 'integer'"),
        ("{a|b.c}", None, "expected a symbol, got '.'"),
        ("{a|(b)}", None, "expected a symbol, got 'group'"),
        ("{a|-b}", None, "expected a symbol, got 'negate'"),
        ("{a(b)(c)}", None, "expected a symbol, got 'func'"),
        ("{a%(b)}", None, "expected template specifier"),
        ("{a+(b,c)}", None, "can't use a list in this context"),
        ("{f((a,b))}", None, "can't use a list in this context"),
        (
            "{(a=b)}",
            None,
            "can't use a key-value pair in this context",
        ),
    ] {
        assert_eq!(error(text), (at, message.to_owned()), "{text}");
    }
}

#[test]
fn a_position_is_marked_in_the_text() {
    let Err(Abort::Parse { hint, .. }) = parse(b"a\nb{c") else {
        panic!("no error");
    };
    assert_eq!(hint.as_deref(), Some("a\\nb{c\n      ^ here"));
}

#[test]
fn operators_bind_as_in_mercurial() {
    let symbol = |name: &str| Expr::Symbol(name.to_owned());
    let boxed = |name: &str| Box::new(symbol(name));
    for (text, expected) in [
        (
            "{-a|b}",
            Expr::Filter(Box::new(Expr::Negate(boxed("a"))), "b".to_owned()),
        ),
        (
            "{a+b*c}",
            Expr::Arithmetic(
                b'+',
                boxed("a"),
                Box::new(Expr::Arithmetic(b'*', boxed("b"), boxed("c"))),
            ),
        ),
        (
            "{a.b|c % d}",
            Expr::Map(
                Box::new(Expr::Filter(
                    Box::new(Expr::Member(boxed("a"), "b".to_owned())),
                    "c".to_owned(),
                )),
                boxed("d"),
            ),
        ),
        (
            "{f(a, b=c, (d))}",
            Expr::Call(
                "f".to_owned(),
                vec![
                    symbol("a"),
                    Expr::Named("b".to_owned(), boxed("c")),
                    Expr::Group(boxed("d")),
                ],
            ),
        ),
    ] {
        let parsed = parse(text.as_bytes()).unwrap();
        assert_eq!(parsed, Expr::Template(vec![expected]), "{text}");
    }
}

/// Recorded from `templater.parse` of Mercurial 7.2.4.
#[test]
fn escapes_in_text_are_decoded() {
    for (text, expected) in [
        ("\\}", "\\}"),
        ("\\{a}", "{a}"),
        ("\\q\\101", "\\qA"),
        ("}", "}"),
        ("'x", "'x"),
    ] {
        let expected = Expr::Text(expected.as_bytes().to_vec());
        assert_eq!(parse(text.as_bytes()).unwrap(), expected, "{text}");
    }
    let parsed = parse(b"\\\\{a}").unwrap();
    let parts = vec![Expr::Text(b"\\".to_vec()), Expr::Symbol("a".to_owned())];
    assert_eq!(parsed, Expr::Template(parts));
    let parsed = parse(b"{'a\\'{b}\\{'}").unwrap();
    let text = |text: &[u8]| Expr::Text(text.to_vec());
    let inner = vec![text(b"a'"), Expr::Symbol("b".to_owned()), text(b"{")];
    assert_eq!(parsed, Expr::Template(vec![Expr::Template(inner)]));
}

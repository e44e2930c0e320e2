//! Source text of several languages, taken apart.

use super::languages::of_file;
use super::tables::{LANGUAGES, NAMES};
use super::{Highlighter, LONGEST_FILE, LONGEST_LINE, TokenKind};
use proptest::prelude::*;
use std::collections::HashSet;

/// Lines with the letter of its kind and braces around each token.
fn shown(path: &str, text: &str) -> Vec<String> {
    let mut highlighter = Highlighter::new(path.as_bytes(), text.as_bytes());
    let mut lines = Vec::new();
    for line in text.lines() {
        let tokens = highlighter.line(line);
        let whole: String = tokens.iter().map(|token| token.text).collect();
        assert_eq!(whole, line);
        let tokens = tokens.iter().map(|token| match token.kind {
            Some(kind) => format!("{}{{{}}}", &kind.class()[1..], token.text),
            None => token.text.to_owned(),
        });
        lines.push(tokens.collect());
    }
    lines
}

#[test]
fn rust_has_nested_comments_raw_texts_and_lifetimes() {
    let text = "#[test]\nfn f<'a>(x: &'a u8) -> char { '\\'' } // end\n/* a /* b */ c\n*/ let s = r#\"a\"\n// no\"#; 0x1f..=2.5\n";
    let expected = [
        "m{#[test]}",
        "k{fn} f<'a>(x: &'a k{u8}) -> k{char} { s{'\\''} } c{// end}",
        "c{/* a /* b */ c}",
        "c{*/} k{let} s = s{r#\"a\"}",
        "s{// no\"#}; n{0x1f}..=n{2.5}",
    ];
    assert_eq!(shown("src/a.rs", text), expected);
}

#[test]
fn languages_have_their_own_marks() {
    let python =
        "@cached\ndef f(x):  # why\n    \"\"\"Text\n    'more'\"\"\"\n    return 'it\\'s', None\n";
    let expected = [
        "m{@cached}",
        "k{def} f(x):  c{# why}",
        "    s{\"\"\"Text}",
        "s{    'more'\"\"\"}",
        "    k{return} s{'it\\'s'}, k{None}",
    ];
    assert_eq!(shown("a.py", python), expected);
    let c = "# include <a.h>\nint x = 1'000; char c = '\"';\nputs(\"open\nnext\n";
    let expected = [
        "m{# include} <a.h>",
        "k{int} x = n{1}'n{000}; k{char} c = s{'\"'};",
        "puts(s{\"open}",
        "next",
    ];
    assert_eq!(shown("a.h", c), expected);
    assert_eq!(
        shown("a.sql", "Select 'it''s' -- all"),
        ["k{Select} s{'it''s'} c{-- all}"]
    );
    assert_eq!(shown("a.sh", "echo $#  # n"), ["k{echo} $#  c{# n}"]);
    assert_eq!(
        shown("a.json", "{\"a\" : \"b\", \"c\": [1, true]}"),
        ["{k{\"a\"} : s{\"b\"}, k{\"c\"}: [n{1}, k{true}]}"]
    );
    assert_eq!(
        shown("a.ini", "[a]\nb = 1 ; c"),
        ["m{[a]}", "b = n{1} c{; c}"]
    );
    let html = "<!-- a\nb --><a href=\"x\" y='>'>text 5</a><br/></>\n";
    let expected = [
        "c{<!-- a}",
        "c{b -->}k{<a} href=s{\"x\"} y=s{'>'}k{>}text 5k{</a><br/></>}",
    ];
    assert_eq!(shown("a.html", html), expected);
}

#[test]
fn languages_are_found_by_names_and_interpreters() {
    let is_known =
        |path: &str, content: &str| of_file(path.as_bytes(), content.as_bytes()).is_some();
    for path in ["a.RS", "d.py/Makefile", "x/.bashrc", "CMakeLists.txt"] {
        assert!(is_known(path, ""), "{path}");
    }
    for content in [
        "#!/bin/sh",
        "#!/usr/bin/env -S python3.11 -x\n",
        "#! /usr/bin/perl -w",
    ] {
        assert!(is_known("run", content), "{content}");
    }
    for (path, content) in [
        ("a.txt", "#!/bin/sh"),
        ("rs", ""),
        ("", ""),
        ("run", "#!"),
        ("run", "#!/bin/env"),
        ("x", "sh"),
    ] {
        assert!(!is_known(path, content), "{path} {content}");
    }
    let endings = LANGUAGES.iter().flat_map(|language| language.endings);
    let mut seen = HashSet::new();
    assert!(endings.clone().all(|ending| seen.insert(ending)));
    assert!(NAMES.iter().all(|(_, ending)| seen.contains(ending)));
}

#[test]
fn long_files_and_lines_stay_plain() {
    let long = "1 ".repeat(LONGEST_LINE / 2 + 1);
    assert_eq!(
        shown("a.rs", &format!("/*\n{long}\n*/ fn")),
        ["c{/*}", &long, "c{*/} k{fn}"]
    );
    let file = " ".repeat(LONGEST_FILE + 1);
    let mut highlighter = Highlighter::new(b"a.rs", file.as_bytes());
    assert_eq!(highlighter.line("fn").len(), 1);
    assert_eq!(highlighter.line("fn")[0].kind, None);
    assert_eq!(TokenKind::Text.class(), "hs");
}

proptest! {
    #[test]
    fn no_text_is_lost_in_any_language(text in proptest::collection::vec(0_usize..40, 0..60)) {
        // Marks of all languages come more often than letters.
        let marks = "\"'`#/*-<>[]{}()\\\n\n @$=!?.:;%r19ax é\u{2028}\u{10000}";
        let marks: Vec<char> = marks.chars().collect();
        let text: String = text.into_iter().map(|at| marks[at % marks.len()]).collect();
        for language in LANGUAGES {
            shown(&format!("a.{}", language.endings[0]), &text);
        }
    }
}

use super::*;
use std::path::Path;

const FILES: &[&str] = &["a", "d/b", "d/e/c", "lnk", "x[1]", "d.x/y.c", "\u{e9}"];

fn matched(
    patterns: &[&str],
    include: &[&str],
    exclude: &[&str],
) -> Result<Vec<&'static str>, String> {
    matched_from("/r", patterns, include, exclude)
}

fn matched_from(
    cwd: &str,
    patterns: &[&str],
    include: &[&str],
    exclude: &[&str],
) -> Result<Vec<&'static str>, String> {
    let bytes = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    let (patterns, include, exclude): (Vec<_>, Vec<_>, Vec<_>) =
        (bytes(patterns), bytes(include), bytes(exclude));
    let request = MatchRequest {
        root: Path::new("/r"),
        cwd: Path::new(cwd),
        patterns: &patterns,
        include: &include,
        exclude: &exclude,
        default: PatternKind::RelPath,
        engine: RegexEngine::Linear,
        files: None,
    };
    let matcher = Matcher::new(&request, &NameCheck).map_err(|error| error.to_string())?;
    let files = FILES.iter().filter(|file| matcher.matches(file.as_bytes()));
    let files: Vec<_> = files.copied().collect();
    for file in &files {
        for (at, _) in file.match_indices('/') {
            assert!(matcher.may_match_below(&file.as_bytes()[..at]), "{file}");
        }
    }
    Ok(files)
}

/// Each line was tried with Mercurial.
#[test]
fn arguments_match_what_mercurial_matches() {
    for (pattern, expected) in [
        ("a", &["a"][..]),
        ("./a", &["a"]),
        ("/r/a", &["a"]),
        (".", FILES),
        ("", FILES),
        ("d", &["d/b", "d/e/c"]),
        ("d/", &["d/b", "d/e/c"]),
        ("x[1]", &["x[1]"]),
        ("foo:bar", &[]),
        ("path:./d//b", &["d/b"]),
        ("path:", FILES),
        ("path:../x", &[]),
        ("filepath:a", &["a"]),
        ("filepath:d", &[]),
        ("rootfilesin:d", &["d/b"]),
        ("rootfilesin:.", &["a", "lnk", "x[1]", "\u{e9}"]),
        ("relglob:c", &["d/e/c"]),
        ("relglob:e", &[]),
        ("relglob:*.c", &["d.x/y.c"]),
        ("rootglob:d/*", &["d/b"]),
        ("glob:d", &[]),
        ("glob:**c", &["d/e/c", "d.x/y.c"]),
        ("glob:**/c", &["d/e/c"]),
        ("glob:**/a", &["a"]),
        ("glob:d?b", &["d/b"]),
        ("glob:d/{b,e}", &["d/b"]),
        ("glob:[a-b]", &["a"]),
        ("glob:[!b]", &["a"]),
        ("glob:x[[]1]", &["x[1]"]),
        ("glob:x\\[1]", &["x[1]"]),
        ("glob:[a", &[]),
        ("re:d", &["d/b", "d/e/c", "d.x/y.c"]),
        ("re:", FILES),
        ("re:.*c$", &["d/e/c", "d.x/y.c"]),
        ("relre:c", &["d/e/c", "d.x/y.c"]),
        ("relre:^c", &[]),
    ] {
        assert_eq!(
            matched(&[pattern], &[], &[]).as_deref(),
            Ok(expected),
            "{pattern}"
        );
    }
}

#[test]
fn names_and_globs_are_meant_from_the_current_directory() {
    let from_d = |patterns: &[&str], include: &[&str]| matched_from("/r/d", patterns, include, &[]);
    assert_eq!(from_d(&["."], &[]).unwrap(), ["d/b", "d/e/c"]);
    assert_eq!(from_d(&["../a"], &[]).unwrap(), ["a"]);
    assert_eq!(from_d(&["glob:*"], &[]).unwrap(), ["d/b"]);
    assert_eq!(from_d(&[], &["*"]).unwrap(), ["d/b", "d/e/c"]);
    assert_eq!(from_d(&["path:a"], &[]).unwrap(), ["a"]);
    assert_eq!(from_d(&[".."], &[]).unwrap(), FILES);
}

#[test]
fn includes_and_excludes_take_directories_too() {
    assert_eq!(matched(&[], &["d"], &[]).unwrap(), ["d/b", "d/e/c"]);
    assert_eq!(matched(&[], &["glob:d/*"], &["path:d/e"]).unwrap(), ["d/b"]);
    assert_eq!(matched(&["a", "d/b"], &[], &["d"]).unwrap(), ["a"]);
    assert_eq!(matched(&["d"], &["re:.*e"], &[]).unwrap(), ["d/e/c"]);
}

#[test]
fn errors_are_in_mercurials_words() {
    for (pattern, expected) in [
        ("re:[", "invalid pattern (re): ["),
        ("re:\\q", "invalid pattern (re): \\q"),
        ("re:a**", "invalid pattern (re): a**"),
        ("re:(a", "invalid pattern (re): (a"),
        ("re:*.o", "invalid pattern (re): *.o"),
        ("relre:*.o", "invalid pattern (relre): *.o"),
        ("re:a|+", "invalid pattern (re): a|+"),
        ("re:a{2}{3}", "invalid pattern (re): a{2}{3}"),
        ("re:\\b*", "invalid pattern (re): \\b*"),
        ("glob:{a,b", "invalid pattern (glob): {a,b"),
        ("../x", "../x not under root '/r'"),
        ("/rest", "/rest not under root '/r'"),
        (".hg", "path contains illegal component: .hg"),
        ("d/../.HG/x", "path contains illegal component: .HG/x"),
        ("d/.hg/x", "path 'd/.hg/x' is inside nested repo 'd'"),
        (
            "listfile:/nope/nope",
            "unable to read file list (/nope/nope)",
        ),
        (
            "set:added()",
            "patterns of the kind 'set:' are not supported here: added()",
        ),
    ] {
        assert_eq!(matched(&[pattern], &[], &[]), Err(expected.to_owned()));
    }
    for construct in [
        "a(?=b)", "(?<!a)b", "(a)\\1", "a++", "(?>a)", "(?P=n)", "(?(1)a)",
    ] {
        let error = matched(&[&format!("re:{construct}")], &[], &[]).unwrap_err();
        assert!(error.contains("not supported"), "{error}");
    }
}

#[test]
fn forms_that_need_backtracking_match_where_they_are_allowed() {
    for (text, expected) in [
        ("(?!d/).*[bc]$", &["d.x/y.c"][..]),
        ("d/(?=e)", &["d/e/c"]),
        (".*(?<!/)c$", &["d.x/y.c"]),
        (".*(?<=/)c", &["d/e/c"]),
        ("(.)\\.x/y\\.(?!\\1)", &["d.x/y.c"]),
        ("(.)\\1|(?!.)", &[]),
        ("(?P<n>.)/(?!(?P=n)).", &["d/b", "d/e/c"]),
        ("(?>d/e)/", &["d/e/c"]),
        ("(?>d*)d", &[]),
        ("d++/e", &["d/e/c"]),
        ("(d)?(?(1)/b|a)", &["a", "d/b"]),
        ("(?P<n>d)?(?(n)/b|a)", &["a", "d/b"]),
        (".*[^\\x00-\\x7f](?!x)", &["\u{e9}"]),
        // Beside one that needs none.
        ("lnk$", &["lnk"]),
    ] {
        let patterns = [(PatternKind::Re, text), (PatternKind::Path, "none")];
        let patterns = patterns.map(|(kind, text)| Pattern {
            kind,
            text: text.as_bytes().to_vec(),
        });
        let engine = RegexEngine::Backtracking;
        let set = PatternSet::compile_for(engine, &patterns, PatternEnd::File).unwrap();
        let files = FILES.iter().filter(|file| set.matches(file.as_bytes()));
        assert_eq!(files.copied().collect::<Vec<_>>(), expected, "{text}");
    }
    for text in [
        "(?!a",
        "(?<=a*)b",
        "(?P=n)",
        "(?(x",
        "(?P=1",
        "\\7(?=a)",
        "(?P<1>a)(?=b)",
    ] {
        let pattern = Pattern {
            kind: PatternKind::Re,
            text: text.as_bytes().to_vec(),
        };
        let engine = RegexEngine::Backtracking;
        let refusal = PatternSet::compile_for(engine, &[pattern], PatternEnd::File);
        assert!(
            matches!(refusal, Err(PatternError::Invalid { .. })),
            "{text}"
        );
    }
}

/// `(expression, matches, does not match)`, as Python's `re.match` has it.
#[test]
fn python_expressions_keep_their_meaning() {
    for (text, yes, no) in [
        ("[[]x", "[x", "]x"),
        ("[]a]b", "]b", "b"),
        ("[a&&b]$", "&", "c"),
        ("[^\\d]", "a", "1"),
        ("[a\\-z]$", "-", "b"),
        ("[a-]$", "-", "b"),
        ("a{,2}$", "aa", "aaa"),
        ("a{2}", "aa", "a"),
        ("a{b}", "a{b}", "ab"),
        ("a{", "a{", "a"),
        ("\\x41", "A", "B"),
        ("\\.\\/\\ \\-\\<", "./ -<", ".a"),
        ("(?i)AB", "ab", "b"),
        ("(?:a|b)+?c", "abc", "c"),
        ("(?P<n>a)b", "ab", "b"),
        ("(?#note)a", "a", "b"),
        ("(?a)\\w", "a", "-"),
        ("a\\Z", "a", "ab"),
        ("\\0", "\0", "0"),
        ("\u{e9}", "\u{e9}", "e"),
    ] {
        let pattern = Pattern::parse(format!("re:{text}").as_bytes(), PatternKind::Glob);
        let set = PatternSet::compile(&[pattern], PatternEnd::File).unwrap();
        assert!(set.matches(yes.as_bytes()), "{text} {yes}");
        assert!(!set.matches(no.as_bytes()), "{text} {no}");
    }
}

#[test]
fn paths_are_normalised_by_their_names() {
    for (path, expected) in [
        ("a//b/./c", "a/b/c"),
        ("a/../b", "b"),
        ("../a", "../a"),
        ("a/../..", ".."),
        ("", "."),
        ("/..//a", "/a"),
    ] {
        assert_eq!(normalise(path.as_bytes()), expected.as_bytes());
    }
}

#[test]
fn many_patterns_are_split_where_one_expression_would_be_too_large() {
    let text = |at: usize| format!("re:({at}|x{{1,40}}[a-z]{{1,40}}){{1,40}}");
    let patterns = (0..40).map(|at| Pattern::parse(text(at).as_bytes(), PatternKind::Glob));
    let set = PatternSet::compile(&patterns.collect::<Vec<_>>(), PatternEnd::File).unwrap();
    assert!(set.matches(b"39") && !set.matches(b"y"));
    let huge = Pattern::parse(b"re:((a{1,1000}){1,1000}){1,1000}", PatternKind::Glob);
    assert!(PatternSet::compile(&[huge], PatternEnd::File).is_err());
}

//! Functions and filters of templates that ask for ancestors, extremes and escapes.

use super::Twin;

#[test]
fn parents_within_a_subset_are_the_same() {
    let twin = Twin::reading();
    for query in [
        "all()",
        "0+tip",
        "head() or merge()",
        "not merge()",
        "0:4",
        "none()",
    ] {
        let template = format!("{{rev}}: {{subsetparents(rev, revset('{query}'))}}\\n");
        twin.same(&["log", "-r", query, "-T", &template]);
    }
    for template in [
        "{subsetparents(1)}",
        "{subsetparents('x', revset('0'))}",
        "{subsetparents(rev, '0')}",
        "{subsetparents(99, revset('0'))}|",
        "{subsetparents(rev, revset('0:tip')) % '{rev}:{node|short} '}|",
    ] {
        twin.same(&["log", "-r", "tip", "-T", template]);
    }
}

#[test]
fn extremes_and_their_errors_are_the_same() {
    let twin = Twin::reading();
    for argument in [
        "files",
        "revset('0:2')",
        "'abc'",
        "''",
        "rev",
        "date",
        "bookmarks",
        "extras",
        "dict()",
    ] {
        for function in ["min", "max"] {
            let template = format!("{{{function}({argument})}}\\n");
            twin.same(&["log", "-r", "1", "-T", &template]);
        }
    }
}

#[test]
fn text_is_escaped_for_xml_alike() {
    let twin = Twin::reading();
    twin.same(&["debugtemplate", "{'a\\x01b<\\t&\\'>\\x7f'|xmlescape}\\n"]);
    twin.same(&["log", "-r", "0", "-T", "{author|xmlescape}\\n"]);
    // Items of commands are no changesets.
    twin.same(&["debugtemplate", "{files('x')}"]);
}

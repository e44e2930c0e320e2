//! Functions and filters of templates that ask for ancestors, extremes and escapes.

use super::Twin;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos::write;

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
        "null+0+tip",
        "reverse(null:wdir())",
        "head()+wdir()",
    ] {
        let template = format!("{{rev}}: {{subsetparents(rev, revset('{query}'))}}\\n");
        twin.same(&["log", "-r", query, "-T", &template]);
    }
    // One parent of the merge leads to a member, the other one to the null revision only.
    let merged = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        hg.ok(path, &["debugbuilddag", "-n", "+1:a $ +1 /a"]);
    });
    let template = "{rev}: {subsetparents(rev, revset('null+0+2'))}\\n";
    merged.same(&["log", "-r", "null+0+2", "-T", template]);
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

/// Files in all states, names and a copy, and a description of several lines.
fn described(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    write(path, "a", b"a\n");
    write(path, "kept", b"kept\n");
    write(path, "removed", b"removed\n");
    hg.ok(
        path,
        &["commit", "-A", "-m", "one\n\ntwo\nthree", "-d", "7 -3600"],
    );
    hg.ok(path, &["copy", "a", "copied"]);
    hg.ok(path, &["remove", "removed"]);
    write(path, "a", b"a\nb\n");
    hg.ok(path, &["commit", "-m", "second", "-d", "8 0"]);
    hg.ok(path, &["bookmark", "-r", "0", "mark"]);
    hg.ok(path, &["tag", "--local", "-r", "0", "name"]);
}

#[track_caller]
fn all(templates: &[&str]) {
    let twin = Twin::writing(described);
    for template in templates {
        let template = format!("{template}\\n");
        twin.same(&["log", "-r", "0:1", "-T", &template]);
    }
}

#[test]
fn files_have_keywords_of_their_own() {
    all(&[
        "{files % '{status} {pad(size, 3, left=True)} {path} {flags}|'}",
        "{files('**') % '{status} {size} {path}|'}",
        "{file_adds % '{path} {status}|'}{file_dels % '{path} {status} {size}|'}",
        "{file_copies % '{path} <- {source}|'}",
        "{status}{size}{flags}|",
    ]);
}

#[test]
fn members_of_lists_have_names() {
    all(&[
        "{desc|splitlines % '<{line}>'}",
        "{filter(desc|splitlines) % '<{line}>'}",
        "{filter(desc|splitlines, ifcontains('t', line, 't'))}",
        "{splitlines(desc) % '{index}{line} '}",
        "{revset(':') % '{revision},{rev} '}",
        "{get(namespaces, 'bookmarks') % '{name}|{bookmark} '}",
        "{namespaces.tags % '{tag} '}",
        "{namespaces % '{namespace}={names} '}",
        "{date.unixtime} {date.tzoffset} {localdate(date, '+0200').tzoffset}",
    ]);
}

#[test]
fn texts_that_are_made_of_members_stay_a_list() {
    all(&[
        "{json(extras % '{key}')}",
        "{min(files % '{file}')} {max(files % '{file}')}",
        "{files % '{file}'|count}",
        "{join(files % '<{file}>', ' ')}",
        "{ifcontains('a', files % '{file}', 't', 'f')}{ifcontains('cop', files % '{file}', 't', 'f')}",
        "{if(files % '', 'some', 'none')}",
        "{filter(dict(a=0, b=1) % '{ifeq(key, \"a\", \"{value}\")}')}",
        "{min(dict() % '')}",
        "{filter(files % '{file}', 'x')}",
        "{extras % '{key}' % '{key}'}",
    ]);
}

#[test]
fn wrong_arguments_are_refused_with_the_same_words() {
    all(&[
        "{filter(date)}",
        "{filter(rev)}",
        "{filter(desc)}",
        "{filter(manifest)}",
        "{word('0')}",
        "{word('0', desc, 'o', 'h')}",
        "{word('a', desc)}",
        "{-desc}",
        "{dict(rev, node|short)}",
        "{dict(node, node|short)}",
        "{dict(x=rev, x=node)}",
        "{dict(1 + 2)}",
        "{if(true, 't', 'f')}{if(false, 't', 'f')}{if(nosuch, 't', 'f')}",
    ]);
}

#[test]
fn values_in_queries_are_the_same() {
    all(&[
        "{revset('%d', rev)}",
        "{revset('%d', rev - 1)}",
        "{revset('%d', rev - 2)}",
        "{revset('%d', rev + 1)}",
        "{revset('%ld', revset('0+1'))}",
        "{revset('%ls', dict(a='tip', b='0') % '{value}')}",
        "{revset('%ls', revset('none()') % '{rev}')}|",
        "{revset('%r', '0:1')}",
        "{revset('%r', 0)}",
        "{revset('%s', 'tip')}",
        "{revset('%whatever', 0)}",
        "{revset('%lwhatever', files)}",
        "{revset('%l', 0)}",
        "{revset('%ld', files)}",
        "{revset('%ls', 0)}",
        "{revset('%d', foo)}",
        "{revset('%b', foo)}",
    ]);
}

#[test]
fn escaped_strings_are_read_as_in_a_string_around_them() {
    all(&[
        r#"{r"\""}"#,
        r#"{"\""}"#,
        r#"{\"a{rev}\"}"#,
        r#"{\'a{rev}\'}"#,
        r#"{r\"a{rev}\"}"#,
        r#"{if(rev, "\"{rev}")}"#,
        r#"{if(rev, "{if(rev, \"\\\"{rev}\")}")}"#,
        r#"{if(rev, "{if(rev, \"{if(rev, \\\"\\\\\\\"{rev}\\\")}\")}")}"#,
        r#"{if(rev, r"\\\"")}"#,
        r#"{if(rev, "{if(rev, r\"\\\\\\\"\")}")}"#,
        r#"{if(rev, '{if(rev, \'foo\')}')}"#,
        r#"{if(rev, "{if(rev, \")}")}"#,
        r#"{if(rev, \"\\"")}"#,
        r#"{if(rev, r\"\\"")}"#,
    ]);
    let twin = Twin::reading();
    for template in ["{(0)}", "{(-4)}", "{((1) + 2)}", r#"{\"a\"}"#] {
        twin.same(&["debugtemplate", "-v", template]);
    }
}

#[test]
fn nodes_are_shortened_alike() {
    let twin = Twin::reading();
    for rev in ["null", "0", "tip"] {
        for template in [
            "{shortest(node, 1)}",
            "{shortest('ff')} {shortest('fffffff')} {shortest('0123456789')}",
            "{shortest('ffffffffffffffffffffffffffffffffffffffff', 1)}",
            "{node|formatnode} {manifest}",
        ] {
            twin.same(&["log", "-r", rev, "-T", template]);
            twin.same(&["log", "-r", rev, "-T", template, "--debug"]);
        }
    }
}

/// The mark of a node that could be a number stands in for more digits, and is read wherever a name is.
#[test]
fn beginnings_of_nodes_may_be_marked() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        hg.ok(path, &["debugbuilddag", "+30"]);
    });
    let marks = "--config=experimental.revisions.prefixhexnode=yes";
    for least in ["1", "3"] {
        let template = format!("{{rev}}:{{shortest(node, {least})}}\n");
        twin.same(&["log", "-T", &template, marks]);
    }
    for name in [
        "x24", "x8", "xf", "xffff", "x", "x00", "x0", "xzz", "id(x24)", "id(x)", "id(xff)",
    ] {
        twin.same(&["log", "-r", name, "-T", "{rev}\n"]);
    }
}

/// An ambiguous beginning is looked for among the changesets that the user prefers, and theirs need fewer digits.
#[test]
fn beginnings_of_nodes_may_be_looked_for_among_some() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        hg.ok(path, &["debugbuilddag", "+60"]);
    });
    for within in ["50:54", "30:59", "none()"] {
        let within = format!("--config=experimental.revisions.disambiguatewithin={within}");
        twin.same(&[
            "log",
            "-r",
            "48:54",
            "-T",
            "{rev}:{shortest(node, 1)}\n",
            &within,
        ]);
        for name in ["a", "b", "c", "d", "e", "f", "xa", "xe", "id(d)", "xb:xc"] {
            twin.same(&["log", "-r", name, "-T", "{rev}\n", &within]);
        }
    }
}

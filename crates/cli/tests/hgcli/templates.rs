//! Templates, styles and JSON.

use super::Twin;
use super::log::history;
use varve_testkit::repos::write;

#[test]
fn styles_are_printed() {
    let twin = Twin::writing(history);
    for style in [
        "compact",
        "changelog",
        "phases",
        "status",
        "bisect",
        "default",
        "xml",
    ] {
        for more in ["-v", "--debug", "-q", "-C"] {
            twin.same(&["log", "-T", style, more]);
        }
    }
    twin.all_same(&[
        "log -T show",
        "log -T list",
        "log --style compact -l 1",
        "log --style nosuch",
        "log -l 1 --config ui.style=compact",
        "log -l 1 --config ui.logtemplate={rev}",
        "log -l 1 --config command-templates.log='{rev}'",
        "log -G -T compact -l 3",
        "log -G -T xml -l 3",
        "log -T pickle",
        "heads -T compact",
        "parents -T {rev}",
        "tip --style changelog",
    ]);
    twin.each(|path| {
        let map = "changeset = '{rev}\\n'\nchangeset_quiet = \"q{rev}\\n\"\nseparator = ','\n";
        std::fs::write(path.join("map-of-mine"), map).unwrap();
    });
    twin.all_same(&[
        "log --style ./map-of-mine",
        "log -T ./map-of-mine",
        "log -q --style ./map-of-mine",
    ]);
}

#[test]
fn json_has_the_fields_that_are_asked_for() {
    Twin::writing(history).all_same(&[
        "log -T json(rev,desc) -l 2",
        "log -T json(rev,short=node|short) -l 2",
        "log -T json(rev) -r none()",
        "tags -T json(tag,rev)",
        "bookmarks -T json(bookmark)",
        "files -T json(path,size) -r 0",
        "config -T json(name,value) alias.nosuch",
    ]);
}

#[test]
fn json_has_all_details() {
    Twin::writing(history).all_same(&[
        "log -T json -p --stat -C -v",
        "log -T json --debug",
        "log -T json -q",
        "log -T json -r null --debug",
        "tip -T json",
        "heads -T json",
    ]);
}

#[test]
fn keywords_are_filled() {
    let twin = Twin::writing(history);
    for template in [
        "{p1} {p1.rev} {p1.desc} {p2} {p2.rev} {p1|json} {p1.p1.rev} {p1 % '{node}'}\n",
        "{parents|json} {parents % '{rev}:{desc} {parents},'} {join(parents, ',')}\n",
        "{children} {children % '<{child}>'} {children|json}\n",
        "{bookmarks % '{bookmark}{ifeq(bookmark, active, \"*\")} '}{activebookmark}\n",
        "{manifest} {manifest.rev} {manifest % '{node}'} {manifest|json}\n",
        "{namespaces} {namespaces % '{namespace}={names};'} {namespaces|json} {namespaces.tags}\n",
        "{latesttag} {latesttagdistance} {changessincelatesttag}{latesttag % ' {tag} {changes}'}\n",
        "{diffstat} {negrev} {phaseidx} {termwidth} {verbosity} {closesbranch} {index}\n",
        "{file_copies} {file_copies|json} {file_copies % '{name}<{source}'}\n",
        "{extras|json} {extras.branch} {extras % '{key}={value}'} {obsolete}{instabilities}\n",
        "{onelinesummary}\n",
        "{desc|cbor}{dict(a=rev, b=extras)|cbor}{date|cbor}{files|cbor}{p1|cbor}{nothing|cbor}\n",
        "{nothing|json} {p1|json} {date|json}\n",
        "{rev.node}",
        "{files.x}",
        "{date|json}{rev % 'x'}",
    ] {
        twin.same(&["log", "-T", template]);
    }
}

#[test]
fn a_configured_line_sums_up_a_changeset() {
    let twin = Twin::writing(history);
    twin.same(&["log", "-T", "{onelinesummary}\n", "--color", "debug"]);
    for template in ["{rev} {l}\n{desc}", "{wrong"] {
        let summary = format!("--config=command-templates.oneline-summary={template}");
        let alias = "--config=templatealias.l=label(\"x\", \"<{author}>\")";
        twin.same(&["log", "-T", "{onelinesummary}\n", &summary, alias]);
    }
    // Mercurial recurses until Python's stack is full.
    let own = "--config=command-templates.oneline-summary={revset('0') % '{onelinesummary}'}";
    let ours = twin.run(&["log", "-T", "{onelinesummary}", own]).ours;
    assert!(ours.stderr.contains("recursive reference"), "{ours}");
}

#[test]
fn functions_are_called() {
    let twin = Twin::writing(history);
    for template in [
        "{sub('e', 'X', desc)} {sub('(re)(n)', r'\\2-\\1', desc)} {sub('re', r'\\g<0>!', desc)}\n",
        "{search('(n)(a)?', desc) % '{0}{1}{2}'}{sub('(', 'x', desc)}\n",
        "{search('(n)(?P<x>a)?', desc)|json} {search('(n)', desc) % '{0}.'} {search('n', desc)|upper}\n",
        "{ifeq(search('.', desc), 'x', 'y', 'z')}{pad(search('.', desc), 3)}{revset('0:2')|cbor|hex}\n",
        "{dict(a=revset('1'), b=search('.', desc))|json}{dict(a=revset('1'))|cbor|hex}\n",
        "{fill(desc, 8)} {fill(desc, 12, '> ', '- ')} {desc|fill68} {desc|fill76}\n",
        "{shortest(node)} {shortest(node, 1)} {revset('0:2')} {revset('0:1')|json}\n",
        "{revset('%d:%s', 1, '2') % '{rev}:{node|short},'} {max(revset('0:2'))}\n",
        "{dict(rev, a=1)} {dict(a=1, b=desc)|json} {dict(rev, node).rev}\n",
        "{pad(desc, 10, '-', True)}{pad(desc, 3, truncate=yes)}{pad(desc, width=9, left=1)}\n",
        "{relpath('a')} {strip('xxaxx', 'x')} {mod(-7, 3)} {-7 / 2}\n",
        "{localdate(date, '+0200')|isodate} {localdate(date, 'UTC')|isodate}\n",
        "{config('ui', 'x', 'd')} {configbool('ui', 'x')} {configint('ui', 'x', 3)}\n",
        "{files('a')} {files('glob:d**')} {diff('a')} {diff('z', 'a')}\n",
        "{filter(splitlines(desc))} {filter(files, ifeq(file, 'a', '1')) % '{file}!'}\n",
        "{latesttag('v*')} {latesttag('re:v')} {formatnode(node)} {files|reverse}\n",
        "{commondir(files)} {'a/b'|stripdir} {''|nonempty} {'a@b'|obfuscate}\n",
        "{'@foo bar/baz'|revescape} {'good'|shortbisect} {'0 0'|age} {'\\x41'|hex} {r'\\n{x}'}\n",
        "{1/0}",
        "{pad(rev)}",
        "{pad(rev, x)}",
        "{join(1, 2)}",
        "{dict(1)}",
        "{get(1, 2)}",
        "{revset('foo(')}",
        "{revset('nosuch')}",
        "{desc|shortdate}",
        "{rev|count}",
        "{author.foo",
        "{(rev}",
        "{1a}",
        "{rev,}",
        "{a=b}",
        "{%d}",
    ] {
        twin.same(&["log", "-r", "0:4", "-T", template]);
    }
}

#[test]
fn what_is_not_there_says_so() {
    let twin = Twin::reading();
    let template = "{rstdoc(desc, 'html')}";
    let ours = twin.run(&["log", "-r", "0", "-T", template]).ours;
    assert_eq!(ours.code, Some(10), "{ours}");
    assert!(
        ours.stderr.contains("rstdoc") && ours.stderr.contains("not supported"),
        "{ours}"
    );
}

#[test]
fn persons_are_cut_out_of_authors() {
    let twin = Twin::reading();
    for author in [
        "<a@b>",
        "Ada <a@b>",
        r#""Ada L" <a@b>"#,
        r#""q" z <a@b>"#,
        r#"<a@b> Ada"#,
        r#""" a" <a@b>"#,
        "a.b@c",
        "@b",
        "a <b",
        "",
    ] {
        let template = format!("[{{'{author}'|person}}]");
        twin.same(&["log", "-r", "0", "-T", &template]);
    }
}

/// Templates that others name, in map files and in the configuration.
#[test]
fn templates_stand_for_words_and_members() {
    let twin = Twin::writing(history);
    for map in [
        "changeset = '{rev} {mine}\\n'\nmine = '<{desc|firstline}|{other}>'\nother = '{node|short}{nosuch}'\n",
        "changeset = '{rev}:{parents}{files}{file_adds}{tags}\\n'\nparent = ' p{rev}'\nfile = '[{file}]'\n\
         last_file = '[{file}!]'\nstart_files = '('\nend_files = ')'\nno_tags = 'none'\nfile_add = '+{file_add}'\n",
        "changeset = '{tags % rev}{files % line}\\n'\nrev = '{rev} {tag}'\nline = '{file} {mine},'\nmine = '{index}{file}'\n",
        "changeset = '{changeset}\\n'\n",
        "changeset = '{foo}'\nfoo = '{changeset}'\n",
        "changeset = '{rev}{wrong}\\n'\nwrong = '{(rev'\n",
        "changeset = '{rev}{lone|upper}{if(lone, \"x\")}\\n'\nlone = 'a{rev}'\nunused = '{(rev'\nmissing = nosuch-file\n",
    ] {
        twin.each(|path| write(path, "map", map.as_bytes()));
        twin.same(&["log", "--style", "./map"]);
    }
    let settings = [
        "--config=templates.mine='<{rev}>{inner}'",
        "--config=templates.inner=\"{user|person}\"",
        "--config=templates.revision='{revision};'",
        "--config=templates.start_revisions='['",
        "--config=templates.end_revisions=']'",
        "--config=templates.last_revision='{revision}'",
    ];
    for template in [
        "{mine}\n",
        "{revset('0:2')}{revset('0:2') % '{revision}'}\n",
        "mine",
    ] {
        let words = [&["log", "-T", template][..], &settings[..]].concat();
        twin.same(&words);
    }
    let words = [
        &["status", "--all", "-T", "{path}{mine}\n"][..],
        &settings[..2],
    ]
    .concat();
    twin.same(&words);
}

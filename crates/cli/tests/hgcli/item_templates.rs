//! Keywords and functions of the changeset or file that an item of a command is about.

use super::Twin;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::write;

/// Two branches, a rename, a tag, a bookmark and local changes of each kind.
fn history(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    write(path, "a", b"one\ntwo\n");
    write(path, "d/x", b"x\n");
    write(path, "gone", b"g\n");
    hg.ok(path, &["commit", "-A", "-m", "first\nlines", "-d", "0 0"]);
    write(path, "a", b"one\ntwo\nthree\n");
    hg.ok(path, &["rename", "d/x", "d/y"]);
    hg.ok(
        path,
        &["commit", "-m", "second", "-d", "9 3600", "-u", "Ada <a@x>"],
    );
    hg.ok(path, &["bookmark", "mark"]);
    hg.ok(path, &["tag", "-d", "12 0", "v1"]);
    hg.ok(path, &["branch", "other"]);
    write(path, "a", b"one\nTWO\nthree\n");
    write(path, "new", b"n\n");
    write(path, "unknown", b"u\n");
    hg.ok(path, &["add", "new"]);
    hg.ok(path, &["remove", "gone"]);
    let paths = "[paths]\ndefault = http://a/b\ndefault:pushurl = https://c/d\nup = /nowhere\n";
    write(path, ".hg/hgrc", paths.as_bytes());
}

const COMMANDS: &[&[&str]] = &[
    &["bookmarks"],
    &["tags"],
    &["branches"],
    &["identify"],
    &["identify", "-r", "1"],
    &["files"],
    &["files", "-r", "1"],
    &["status"],
    &["status", "--change", "1"],
    &["status", "--rev", "0"],
    &["status", "--rev", "0", "--rev", "1"],
    &["manifest"],
    &["cat", "-r", "1", "a"],
    &["grep", "t"],
    &["grep", "-r", "0:1", "t"],
    &["grep", "--diff", "-r", "1", "t"],
    &["resolve", "-l"],
];

#[test]
fn items_have_the_keywords_of_their_changeset_or_file() {
    let twin = Twin::writing(history);
    let templates = [
        "{rev} {node|short} {desc|firstline} {path} {size} {flags} {mode}|{status}|{user|person} \
         {branch} {phase} {tags} {files} {p1.rev}:{p1.desc} {index} {children} {latesttag} \
         {latesttagdistance} {graphnode} {bookmarks} {activebookmark} {extras} {manifest.rev}\\n",
        "{revset('tip')}{revset('0') % ' {rev}={desc|firstline} {files(\"d**\")}'} {files('set:**a')} \
         {relpath('d/x')} {shortest(node)} {verbosity}{termwidth} {diffstat} {peerurls}\\n",
    ];
    for command in COMMANDS {
        for template in templates {
            let whole = [command, &["-T", template][..]].concat();
            twin.same(&whole);
        }
    }
    twin.same(&[
        "status",
        "-T",
        "{path} {diff('new')|splitlines % '{line|firstline};'}\\n",
        "new",
    ]);
    twin.run_in("d", &["files", "-T", "{relpath(path)} {path}\\n"]);
}

#[test]
fn items_are_printed_for_other_programs() {
    let twin = Twin::writing(history);
    let more: &[&[&str]] = &[&["annotate", "-n", "a"], &["config", "paths"], &["paths"]];
    for form in ["json", "cbor", "debug"] {
        for command in COMMANDS.iter().chain(more) {
            // The date of the working copy is now.
            if command != &["grep", "t"] {
                twin.same(&[command, &["-T", form][..]].concat());
            }
        }
    }
    twin.same(&["log", "-T", "cbor", "-v"]);
    twin.same(&["log", "-T", "cbor", "--stat", "-C", "-r", "null:1"]);
    twin.same(&["status", "-n", "d", "-T", "debug"]);
}

#[test]
fn lines_have_the_keywords_of_their_changeset() {
    let twin = Twin::writing(history);
    let lines = "{path} {lines % '{rev} {desc|firstline} {files} {size} {p1.rev} {path} {branch} {user} \
                 {lineno} {revset(\"tip\")} {files(\"a\")} {line}'}";
    twin.same(&["annotate", "a", "-T", lines]);
    twin.same(&["annotate", "-r", "wdir()", "a", "-T", lines]);
    twin.same(&["annotate", "a", "-T", "{revset('tip')}"]);
    twin.same(&["annotate", "a", "-T", "{desc}{lines}"]);
}

#[test]
fn items_of_no_changeset_have_settings_only() {
    let twin = Twin::writing(history);
    for command in [&["config", "paths"][..], &["paths"], &["version"]] {
        for template in [
            "{rev}{desc}{verbosity}{termwidth}{index}{config('ui', 'x', 'd')}{label('x', 'y')}\\n",
            "{revset('tip')}",
            "{files('a')}",
            "{latesttag()}",
            "{relpath('a')}",
            "{formatnode('abc')}",
        ] {
            twin.same(&[command, &["-T", template][..]].concat());
        }
    }
    for template in [
        "{revset('tip')}",
        "{files('a')}",
        "{latesttag()}",
        "{relpath('a')}",
    ] {
        twin.same(&["debugtemplate", template]);
    }
}

#[test]
fn names_of_other_repositories_are_listed() {
    let twin = Twin::writing(history);
    for template in [
        "{peerurls}\\n{peerurls|json}\\n{peerurls.default}|{peerurls.default.pushurl}|{peerurls|count}",
        "{peerurls % '{name}={url}={pushurl};{urls}\\n'}{join(peerurls, '+')}",
        "{get(peerurls, 'up')}{get(peerurls, 'no')}{max(peerurls)}{ifcontains('up', peerurls, 'y')}",
    ] {
        twin.same(&["log", "-r", "0", "-T", template]);
    }
}

#[test]
fn the_working_copy_is_a_changeset_with_differences() {
    let twin = Twin::writing(history);
    for arguments in [
        &[
            "log", "-r", "wdir()", "-p", "--stat", "--git", "-T", "{rev}\\n",
        ][..],
        &[
            "log",
            "-r",
            "wdir()",
            "-T",
            "{latesttag} {latesttagdistance} {changessincelatesttag}|",
        ],
        &[
            "log",
            "-r",
            "wdir()",
            "-T",
            "{files('**')} {files % '{file}{size}{status} '} {diffstat}",
        ],
        &[
            "log",
            "-r",
            "wdir()",
            "-T",
            "{latesttag('v*') % '{tag} {distance} {changes}'}",
        ],
        &[
            "log",
            "-r",
            "wdir()",
            "-T",
            "{subsetparents(rev, revset('all()'))}|",
        ],
    ] {
        twin.same(arguments);
    }
}

#[test]
fn entries_are_shown_by_the_name_of_one() {
    let twin = Twin::writing(history).with("FOO", "bar").with("BAZ", "x y");
    let exported = "--config=experimental.exportableenviron=FOO, NONE,BAZ";
    for template in [
        "{extras % '{extra}\n'}{extras % '{key} {extras}\n'}",
        "{file_copies % '{file_copy}|{name}\n'}",
        "{envvars % '{envvar};'}{envvars}{get(envvars, 'BAZ')}{envvars % '{key}={value}'}",
    ] {
        twin.same(&["log", "-T", template]);
        twin.same(&["log", "-T", template, exported]);
    }
}

#[test]
fn a_dot_is_the_active_bookmark() {
    let twin = Twin::writing(history);
    let queries = ["log -q -r bookmark(.)", "log -q -r bookmark('literal:.')"];
    twin.all_same(&queries);
    twin.each(|path| drop(hg().ok(path, &["bookmark", "active"])));
    twin.all_same(&queries);
    twin.each(|path| drop(hg().ok(path, &["bookmark", "-i"])));
    twin.all_same(&queries);
}

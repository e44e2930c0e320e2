//! The hook of the extension `acl`: which rules count, what `--debug` tells of them, how refusals end.

use super::Twin;
use std::path::Path;
use std::process::Command;
use varve_testkit::peers::Hg;

const HOOKS: &str = "[hooks]\npretxncommit.acl = python:hgext.acl.hook\n\
    pretxnchangegroup.acl = python:hgext.acl.hook\nprepushkey.acl = python:hgext.acl.hook\n";

fn start(hg: &Hg, root: &Path) {
    let outside = root.parent().unwrap();
    hg.run(outside, &["init", root.to_str().unwrap()]);
    std::fs::create_dir(root.join("docs")).unwrap();
    for name in ["docs/a", "top"] {
        std::fs::write(root.join(name), "one\n").unwrap();
    }
    hg.run(root, &["commit", "-q", "-A", "-m", "first", "-d", "0 0"]);
    hg.run(outside, &["clone", "-q", "repository", "clone"]);
}

fn twin() -> Twin {
    Twin::writing(start).with("LOGNAME", "fred")
}

fn configure(twin: &Twin, lines: &str) {
    twin.each(|root| std::fs::write(root.join(".hg/hgrc"), format!("{HOOKS}{lines}\n")).unwrap());
}

/// Both programs must tell the same about access, and end alike.
#[track_caller]
fn same_access(twin: &Twin, arguments: &[&str]) -> String {
    let mut both = twin.run(arguments);
    for outcome in [&mut both.theirs, &mut both.ours] {
        let is_about = |line: &&str| {
            ["acl", "abort: ", "error: ", "rollback", "(run with"]
                .iter()
                .any(|word| line.contains(word))
        };
        let told = outcome.stdout.lines().filter(is_about);
        outcome.stdout = told.map(|line| format!("{line}\n")).collect();
    }
    both.same(arguments);
    both.ours.stdout.clone() + &both.ours.stderr
}

#[test]
fn commits_are_allowed_or_refused_by_branch_and_file() {
    let twin = twin();
    twin.each(|root| {
        std::fs::write(root.join("docs/a"), "two\n").unwrap();
        std::fs::write(root.join("top"), "two\n").unwrap();
        let rules = "[acl.allow]\ntop = joe\n[acl.groups]\nwriters = fred\n[acl.deny]\n";
        std::fs::write(root.join("rules"), rules).unwrap();
    });
    let refused = [
        ("[acl.allow]", "fred\" not allowed on \"docs/a\""),
        (
            "[acl.allow]\ndocs = *\ntop = *",
            "not allowed on \"docs/a\"",
        ),
        (
            "[acl.allow]\ndocs/** = joe fred\ntop = !fred",
            "not allowed on \"top\"",
        ),
        (
            "[acl.allow]\n** = *\n[acl.deny]\nre:.*p$ = !joe",
            "denied on \"top\"",
        ),
        (
            "[acl.deny]\npath:docs = @g\n[acl.groups]\ng = joe, fred",
            "denied on \"docs/a\"",
        ),
        (
            "[acl.allow]\n** = fred\n[acl.deny.branches]\n* = *",
            "denied on branch \"default\"",
        ),
        (
            "[acl.allow.branches]\nother = *",
            "not allowed on branch \"default\"",
        ),
        (
            "[acl.deny]\ntop = @nosuchgroup",
            "group 'nosuchgroup' is undefined",
        ),
        ("[acl.allow]\n** = root, @root", "not allowed on \"docs/a\""),
        (
            "[acl]\nconfig = rules\n[acl.allow]\n** = @writers\ntop = fred",
            "",
        ),
        ("[acl]\nconfig = nosuch", "[Errno 2] No such file"),
    ];
    for (rules, words) in refused {
        configure(&twin, rules);
        let told = same_access(&twin, &["commit", "-m", "x", "-d", "0 0", "--debug"]);
        assert!(told.contains(words), "{rules}: {told}");
        if words.is_empty() {
            assert!(!told.contains("abort"), "{rules}: {told}");
            twin.same(&["log", "-T", "{rev} {node}\n"]);
            twin.same(&["rollback", "-q"]);
        }
    }
    configure(
        &twin,
        "[acl.deny]\ntop = joe\n[acl.allow.branches]\ndefault = fred",
    );
    twin.same(&["commit", "-m", "x", "-d", "0 0", "-v"]);
}

#[test]
fn pushes_are_checked_by_source_and_bookmark() {
    let twin = twin();
    twin.each(|root| {
        let clone = root.with_file_name("clone");
        std::fs::remove_dir_all(&clone).ok();
        let copied = Command::new("cp").arg("-a").args([root, &clone]).status();
        assert!(copied.unwrap().success());
        std::fs::write(clone.join("docs/a"), "two\n").unwrap();
    });
    twin.same(&["--cwd", "../clone", "commit", "-m", "second", "-d", "0 0"]);
    twin.same(&["--cwd", "../clone", "bookmark", "mark"]);
    let push = |arguments: &[&str]| {
        let push = ["--cwd", "../clone", "push", "../repository", "--debug"];
        same_access(&twin, &[&push[..], arguments].concat())
    };
    configure(
        &twin,
        "[acl]\nsources = push, serve\n[acl.deny]\ndocs/* = *",
    );
    assert!(push(&[]).contains("denied on \"docs/a\""));
    configure(
        &twin,
        "[acl]\nsources = push\n[acl.deny.bookmarks]\nmark = fred",
    );
    assert!(push(&["-B", "mark"]).contains("denied on bookmark \"mark\""));
    twin.same(&["log", "-T", "{rev} {bookmarks}\n"]);
    configure(&twin, "[acl.deny]\n** = *\n[acl.allow.bookmarks]\n* = fred");
    assert!(push(&["-B", "mark"]).contains("source \"push\" - skipping"));
    twin.same(&["log", "-T", "{rev} {bookmarks}\n"]);
}

#[test]
fn other_hooks_cannot_control_access() {
    let twin = twin();
    let here = "hooks.update.acl=python:hgext.acl.hook";
    same_access(&twin, &["update", "-q", "null", "--config", here]);
    let before = "hooks.pre-log.acl=python:hgext.acl.hook";
    same_access(&twin, &["log", "-v", "--config", before]);
}

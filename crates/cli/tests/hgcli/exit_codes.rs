//! The exit code of each class of failures, with `ui.detailed-exit-code` and without.

use super::Twin;
use varve_testkit::peers;

/// Two changesets and a tag that is only local, with a branch beside.
fn begin(hg: &peers::Hg, root: &std::path::Path) {
    hg.ok(root.parent().unwrap(), &["init", root.to_str().unwrap()]);
    for text in ["a\n", "b\n"] {
        std::fs::write(root.join("a"), text).unwrap();
        hg.ok(root, &["commit", "-qAm", text, "-d", "0 0", "-u", "u"]);
    }
    hg.ok(root, &["tag", "-l", "local"]);
    hg.ok(root, &["bookmark", "-r", "0", "mark"]);
    std::fs::write(root.join("d"), "d\n").unwrap();
}

/// Arguments, names and expressions that cannot be used, and other commands that fail without changing anything.
const FAILING: &[&str] = &[
    "nosuch",
    "u",
    "log --nosuch",
    "--nosuch log",
    "log -r",
    "root x",
    "bookmark null",
    "bookmark .",
    "bookmark a:b",
    "bookmark 123",
    "bookmark mark",
    "bookmark -d nosuch",
    "bookmark -m nosuch z",
    "bookmark default",
    "branch a:b",
    "tag a:b",
    "tag tip",
    "tag local",
    "tag --remove nosuch",
    "tag --remove local",
    "tag --remove -r 0 local",
    "tag -r null x",
    "commit -m x nosuch",
    "commit -m x nosuch/",
    "commit -l nosuch",
    "commit -d nosuch -m x a",
    "commit --draft --secret -m x",
    "commit --amend -m x --subrepos",
    "merge",
    "merge 0",
    "merge .",
    "merge -r 0 1",
    "merge --abort",
    "merge --abort -r 0",
    "merge --abort --preview",
    "resolve",
    "resolve -m -u",
    "resolve -a a",
    "resolve -l",
    "resolve -m a",
    "update nosuch",
    "update -r 0 1",
    "update -c -C 0",
    "update -d nosuch",
    "update -r 0 -d 2000-01-01",
    "--config commands.update.requiredest=1 update",
    "log -r nosuch",
    "log -r null:(",
    "log -r nosuch()",
    "log -r rev(x)",
    "log -d <x",
    "log -l x",
    "log -l -1",
    "log -B nosuch",
    "log -f nosuch",
    "log -T {x",
    "log -T {nosuch()}",
    "log -T list",
    "log --style nosuch",
    "cat nosuch",
    "cat ../x",
    "cat -o %x a",
    "annotate",
    "annotate nosuch",
    "annotate -l a",
    "revert",
    "revert -a -r nosuch",
    "revert -a -r 0 -d 2000-01-01",
    "remove",
    "forget",
    "add ../x",
    "add set:nosuch(",
    "copy",
    "rename a",
    "copy a d e",
    "copy a nosuch/",
    "rename nosuch b",
    "addremove -s 101",
    "addremove -s x",
    "files -r nosuch",
    "manifest -r 0 1",
    "manifest --all -r 0",
    "config --edit --local --global",
    "diff -U x",
    "diff -r nosuch",
    "diff -c 0 -r 1",
    "diff -r 5:6",
    "status --rev 0 --change 1",
    "-R nosuch log",
    "--cwd nosuch log",
    "--config nosuch log",
    "--config a=b log",
    "--config-file nosuch log",
    "clone nosuch x",
    "clone . .",
    "clone -U -u 0 . x",
    "clone -r nosuch . x",
    "clone -b nosuch . x",
    "clone http://127.0.0.1:1/ x",
    "clone http://a/ http://b/",
    "init",
    "push",
    "push nosuch",
    "push -r nosuch .",
    "push -b nosuch .",
    "push -B nosuch .",
    "push ssh://-oProxyCommand=x/y",
    "push http://127.0.0.1:1/",
    "pull",
    "pull -B nosuch .",
    "pull -r nosuch .",
    "pull -b nosuch .",
    "pull https://127.0.0.1:1/",
    "--config ui.ssh=false pull ssh://x/",
    "outgoing",
    "incoming nosuch",
    "identify nosuch",
    "identify -r nosuch",
    "identify -r 0 -b nosuch nosuch",
    "bundle x",
    "bundle -a -t nosuch x",
    "bundle --base nosuch x",
    "bundle --base tip -r tip x",
    "unbundle nosuch",
    "unbundle a",
    "heads nosuch",
    "parents -r nosuch",
    "parents *",
    "phase -d -s .",
    "phase -r nosuch -f",
    "phase -d 5:6",
    "help nosuch",
    "help -k nosuchword",
    "debugdata a",
    "debugdata nosuch 0",
    "debugdata -c 99",
    "debugindex nosuch",
    "recover",
    "paths nosuch",
    "verify nosuch",
    "commit --close-branch -m x -X re:.",
    "--config ui.timeout=x tag x",
    "--config hooks.pre-log=false log",
    "--config hooks.precommit=false commit -A -m x",
    "--config hooks.pretxncommit=false commit -A -m x",
    "--config hooks.pretag=false tag x",
    "--config hooks.pre-log.x=python:nosuch.y root",
    "--config alias.w= w",
    "--config alias.w=nosuch w",
    "--config alias.w=log\\ -r w",
    "--config ui.username= --config ui.askusername=x commit -m x",
    "--config diff.unified=x diff",
    "--config paths.x=path://nosuch paths",
];

#[test]
fn every_failure_ends_with_the_code_of_its_class() {
    let twin = Twin::writing(begin);
    let mut wrong = Vec::new();
    for line in FAILING {
        let words: Vec<&str> = line.split(' ').collect();
        let both = twin.run(&words);
        if both.theirs.code != both.ours.code || both.theirs.stderr != both.ours.stderr {
            wrong.push(format!(
                "hg {line}\n  {:?} {}  {:?} {}",
                both.theirs.code, both.theirs.stderr, both.ours.code, both.ours.stderr
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_traceback_names_the_command_and_the_kind_of_failure() {
    let twin = super::Twin::reading();
    let ours = twin.run(&["update", "nothere", "--traceback"]).ours;
    let mut lines = ours.stderr.lines();
    let first = lines.next().unwrap_or_default();
    assert!(first.starts_with("update failed in Varve "), "{first}");
    assert!(first.ends_with(": wrong arguments"), "{first}");
    assert_eq!(lines.next(), Some("abort: unknown revision 'nothere'"));
}

//! Hooks: when they run, their variables, the data they see, and the effect of a refusal.

use super::{Both, Twin};
use std::path::Path;
use varve_testkit::peers::Hg;

/// Prints the variables of a hook, but for the name of the transaction, which is never the same.
const TELL: &str = "env | grep ^HG_ | grep -v ^HG_TXNID | sort; pwd; echo $HG_TXNID | cut -c 1-4";

/// All that is called for a command of a local repository.
const KINDS: &[&str] = &[
    "precommit",
    "pretxncommit",
    "commit",
    "preupdate",
    "update",
    "pretag",
    "tag",
    "pretxnopen",
    "pretxnclose",
    "txnclose",
    "txnabort",
    "pretxnclose-bookmark",
    "pretxnclose-phase",
    "txnclose-bookmark",
    "txnclose-phase",
];

fn start(hg: &Hg, root: &Path) {
    hg.run(root.parent().unwrap(), &["init", root.to_str().unwrap()]);
    std::fs::write(root.join("a"), "one\n").unwrap();
    hg.run(root, &["commit", "-q", "-A", "-m", "first", "-d", "0 0"]);
}

fn twin(hooks: &[(&str, &str)]) -> Twin {
    let twin = Twin::writing(start);
    let lines = hooks
        .iter()
        .map(|(name, line)| format!("{name} = {line}\n"));
    let text = format!("[hooks]\n{}", lines.collect::<String>());
    twin.each(|root| std::fs::write(root.join(".hg/hgrc"), &text).unwrap());
    twin
}

/// A file with new content in both copies.
fn change(twin: &Twin, name: &str) {
    twin.each(|root| std::fs::write(root.join(name), "changed\n").unwrap());
}

fn with_config<'a>(words: &[&'a str], settings: &'a [String]) -> Vec<&'a str> {
    let settings = settings.iter().flat_map(|setting| ["--config", setting]);
    words.iter().copied().chain(settings).collect()
}

#[test]
fn every_kind_is_called_at_its_moment_with_its_facts() {
    let all: Vec<(&str, &str)> = KINDS.iter().map(|kind| (*kind, TELL)).collect();
    let twin = twin(&all);
    change(&twin, "a");
    twin.same(&["commit", "-m", "second", "-d", "0 0"]);
    twin.all_same(&[
        "bookmark main",
        "bookmark other -r 0",
        "bookmark -m other another",
        "bookmark -d another",
        "tag one two -f -d 2020-01-01",
        "tag -l local",
        "tag --remove one -d 2020-01-01",
        "phase -p 0",
        "phase -f -s 1",
        "update 0",
        "update null -q",
        "update -C tip",
    ]);
    change(&twin, "a");
    twin.same(&["commit", "-m", "third", "-d", "0 0"]);
    twin.same(&["log", "-T", "{rev} {node} {phase} {bookmarks} {tags}\n"]);
}

#[test]
fn commands_have_hooks_before_and_after_them() {
    let names = [
        "pre-status",
        "post-status",
        "fail-status",
        "pre-shown",
        "pre-shell",
        "post-shell",
    ];
    let hooks: Vec<(&str, &str)> = names.iter().map(|name| (*name, TELL)).collect();
    let twin = twin(&hooks).with("HGPLAINEXCEPT", "alias");
    let aliases = "[alias]\nshown = status\nshell = !echo shell\n";
    twin.each(|root| {
        let path = root.join(".hg/hgrc");
        let text = std::fs::read_to_string(&path).unwrap() + aliases;
        std::fs::write(path, text).unwrap();
    });
    twin.all_same(&[
        "status",
        "status --rev 0 -n --no-copies -I a it's",
        "st -A a",
        "status --rev nosuch",
        "status -q --config hooks.post-status=false",
        "status --config hooks.pre-status=false",
        "shown a",
        "shell a",
    ]);
    let killed = ["hooks.pre-status=kill -9 $$".to_owned()];
    twin.same(&with_config(&["status"], &killed));
}

#[test]
fn options_are_shown_to_hooks_as_mercurial_has_them() {
    let hooks: Vec<(String, &str)> = [
        "add",
        "addremove",
        "bookmarks",
        "branch",
        "branches",
        "cat",
        "clone",
        "commit",
        "config",
        "copy",
        "diff",
        "files",
        "forget",
        "heads",
        "help",
        "identify",
        "init",
        "log",
        "manifest",
        "parents",
        "paths",
        "phase",
        "recover",
        "remove",
        "rename",
        "revert",
        "root",
        "status",
        "summary",
        "tag",
        "tags",
        "tip",
        "update",
        "verify",
        "version",
    ]
    .iter()
    .map(|name| (format!("pre-{name}"), "echo $HG_OPTS; exit 7"))
    .collect();
    let borrowed: Vec<(&str, &str)> = hooks
        .iter()
        .map(|(name, line)| (&name[..], *line))
        .collect();
    let twin = twin(&borrowed);
    for (name, _) in &hooks {
        let command = name.strip_prefix("pre-").unwrap();
        let argument = matches!(
            command,
            "cat" | "clone" | "copy" | "rename" | "remove" | "tag"
        );
        twin.same(&[command, "x", "y"][..1 + 2 * usize::from(argument)]);
    }
}

#[test]
fn hooks_run_by_priority_and_take_each_other_back() {
    let twin = twin(&[
        ("pre-root.b", "echo b"),
        ("pre-root", "echo plain"),
        ("pre-root.a", "echo a"),
        ("priority.pre-root.a", "3"),
        ("pre-root.gone", "echo gone"),
    ]);
    twin.all_same(&[
        "root --config hooks.pre-root.gone=",
        "root -v",
        "root -q --config hooks.pre-root.a=",
        "root --config hooks.priority.pre-root.b=x",
        "root --config hooks.priority.pre-root=9",
    ]);
}

#[test]
fn a_refusal_leaves_everything_as_it_was() {
    let twin = twin(&[("txnabort", TELL), ("fail-commit", "echo failed $HG_ARGS")]);
    change(&twin, "a");
    for kind in [
        "precommit",
        "pretxnopen",
        "pretxncommit",
        "pretxnclose-phase",
        "pretxnclose",
    ] {
        let settings = [format!("hooks.{kind}=echo out; echo err >&2; exit 3")];
        twin.same(&with_config(&["commit", "-m", "x", "-d", "0 0"], &settings));
        twin.all_same(&["status", "log -T {rev}", "parents -T {rev}"]);
    }
    for (words, kind) in [
        (&["bookmark", "x"][..], "pretxnclose-bookmark"),
        (&["phase", "-p", "0"], "pretxnclose-phase"),
        (&["update", "null"], "preupdate"),
        (&["tag", "x", "-d", "0 0"], "pretag"),
        (&["tag", "-l", "x"], "pretag"),
    ] {
        let settings = [format!("hooks.{kind}=exit 2")];
        twin.same(&with_config(words, &settings));
        twin.all_same(&[
            "status",
            "log -T {rev}{phase}{bookmarks}{tags}",
            "parents -T {rev}",
        ]);
    }
    assert_eq!(leftovers(twin.ours()), Vec::<String>::new());
    twin.same(&["verify"]);
}

/// Names of files that only belong there while a transaction is under way.
fn leftovers(root: &Path) -> Vec<String> {
    let directories = [root.join(".hg"), root.join(".hg/store")];
    let entries = directories
        .iter()
        .flat_map(|directory| std::fs::read_dir(directory).unwrap());
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let stays = |name: &String| {
        name.contains("pending") || name.contains("journal") || name.ends_with(".a")
    };
    names.filter(stays).collect()
}

#[test]
fn what_only_is_told_cannot_refuse() {
    let twin = twin(&[]);
    change(&twin, "a");
    let kinds = [
        "commit",
        "txnclose",
        "txnclose-phase",
        "update",
        "tag",
        "post-commit",
    ];
    let settings = kinds.map(|kind| format!("hooks.{kind}=echo {kind}; exit 2"));
    for words in [
        &["commit", "-m", "x", "-d", "0 0", "-v"][..],
        &["update", "0"],
        &["tag", "-f", "t", "-d", "0 0"],
    ] {
        twin.same(&with_config(words, &settings));
    }
    twin.same(&["log", "-T", "{rev} {node}\n"]);
}

#[test]
fn hooks_see_what_is_pending_and_others_do_not() {
    let look = "\"$HG\" log -T '{rev} {desc} {phase} {bookmarks} {files}\\n'; \"$HG\" parents -T 'at {rev}\\n'; \
                \"$HG\" bookmarks; \"$HG\" cat -r tip a; unset HG_PENDING; \"$HG\" log -T '{rev} {desc}\\n'";
    let twin = twin(&[
        ("pretxncommit", look),
        ("pretxnclose", look),
        ("txnclose", look),
    ]);
    twin.same(&["bookmark", "main"]);
    change(&twin, "a");
    twin.same(&["commit", "-m", "second", "-d", "0 0"]);
    change(&twin, "b");
    twin.same(&["commit", "-A", "-m", "third", "-d", "0 0", "--secret"]);
}

#[test]
fn each_program_sees_what_is_pending_in_the_other() {
    let (ours, theirs) = (super::our_hg(), varve_testkit::peers::hg_program());
    let twin = twin(&[]);
    change(&twin, "a");
    let both = {
        let look = |program: &Path| {
            let program = program.to_str().unwrap();
            format!(
                "{program} log -r tip -T '{{rev}} {{desc}} {{phase}}\\n'; {program} parents -T '{{rev}}\\n'; {program} status"
            )
        };
        let run = |looker: &Path| {
            let settings = ["pretxncommit", "pretxnclose"]
                .map(|kind| format!("hooks.{kind}={}; false", look(looker)));
            twin.run(&with_config(
                &["commit", "-m", "x", "-d", "0 0"],
                &settings[..1],
            ));
            let all = twin.run(&with_config(
                &["commit", "-m", "x", "-d", "0 0"],
                &settings[1..],
            ));
            (all.theirs.stdout, all.ours.stdout)
        };
        [run(&ours), run(&theirs)]
    };
    let all = [&both[0].0, &both[0].1, &both[1].0, &both[1].1];
    assert!(
        all.iter()
            .all(|seen| *seen == all[0] && seen.starts_with("1 x draft\n1\n")),
        "{all:?}"
    );
}

#[test]
fn functions_of_python_are_refused_before_anything_is_done() {
    let twin = twin(&[]);
    change(&twin, "a");
    for kind in [
        "precommit",
        "commit",
        "txnclose",
        "pretxncommit",
        "post-commit",
        "pre-commit",
    ] {
        let settings = [format!("hooks.{kind}.x=python:some.function")];
        let Both { ours, .. } =
            twin.run(&with_config(&["commit", "-m", "x", "-d", "0 0"], &settings));
        let words = format!("abort: {kind}.x hook is in Python, which cannot be run here\n");
        assert_eq!((ours.stderr, ours.code), (words, Some(40)));
    }
    let Both { ours, .. } = twin.run(&["log", "-T", "{rev}"]);
    assert_eq!(ours.stdout, "0");
}

#[test]
fn repositories_of_this_machine_have_absolute_urls() {
    let twin = twin(&[]);
    change(&twin, "a");
    twin.same(&["commit", "-m", "x", "-d", "0 0"]);
    twin.same(&["init", "other"]);
    let hook = "hooks.pretxnopen=case $HG_URL in file:/*/other) echo absolute;; esac";
    for path in ["other", "./other"] {
        twin.same(&["push", "-q", path, "--config", hook]);
        twin.same(&["pull", "-q", path, "--config", hook]);
    }
}

#[test]
fn a_bookmark_at_the_null_changeset_has_its_id() {
    let twin = twin(&[(
        "txnclose-bookmark",
        "echo \"$HG_BOOKMARK:$HG_OLDNODE>$HG_NODE\"",
    )]);
    twin.all_same(&[
        "bookmark -r null none",
        "bookmark -f -r 0 none",
        "bookmark -f -r null none",
        "bookmark -d none",
    ]);
}

/// A copy calls those of its source, a pull those of the user.
#[test]
fn clones_call_hooks() {
    let twin = twin(&[("preoutgoing", TELL), ("outgoing", TELL)]);
    twin.same(&["clone", ".", "../copied"]);
    twin.each(|root| std::fs::remove_file(root.join(".hg/hgrc")).unwrap());
    let kinds = [
        "pretxnopen",
        "prechangegroup",
        "pretxnchangegroup",
        "pretxnclose",
        "txnclose",
        "changegroup",
        "incoming",
    ];
    let settings = kinds.map(|kind| format!("hooks.{kind}={TELL}"));
    twin.same(&with_config(&["clone", "--pull", ".", "pulled"], &settings));
    twin.same(&with_config(&["clone", "-r", "0", ".", "part"], &settings));
    // Nothing is copied if the source refuses.
    let refuses = ["hooks.preoutgoing=false".to_owned()];
    twin.same(&with_config(&["clone", ".", "../refused"], &refuses));
}

/// Revisions and keys that leave a repository of this machine one by one.
#[test]
fn pulls_on_this_machine_call_the_hooks_of_their_source() {
    let kinds = ["preoutgoing", "outgoing", "prelistkeys", "listkeys"];
    let twin = twin(&kinds.map(|kind| (kind, TELL)));
    change(&twin, "a");
    twin.each(|root| std::fs::create_dir(root.join("within")).unwrap());
    twin.all_same(&["commit -m second -d 2020-01-01", "bookmark mark"]);
    twin.same(&["clone", "-q", "-U", "--pull", ".", "within/whole"]);
    twin.same(&["clone", "-q", "-U", "-r", "0", ".", "within/part"]);
    for refusing in ["hooks.prelistkeys.x=exit 3", "hooks.preoutgoing.x=exit 3"] {
        let refuses = [refusing.to_owned()];
        twin.same(&with_config(&["pull", "-R", "within/part", "."], &refuses));
    }
    // What has happened already is not refused.
    let fails = ["hooks.outgoing.x=exit 3".to_owned()];
    twin.same(&with_config(&["pull", "-R", "within/part", "."], &fails));
}

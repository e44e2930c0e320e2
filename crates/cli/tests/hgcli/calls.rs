//! Common to all calls: global options, configured extensions, text of the terminal; and the output
//! for an empty repository.

use super::{Both, Twin};
use varve_testkit::peers::hg;

fn empty() -> Twin {
    Twin::writing(|hg, root| {
        hg.run(root.parent().unwrap(), &["init", root.to_str().unwrap()]);
    })
}

#[test]
fn an_empty_repository_has_one_tip() {
    empty().all_same(&[
        "tip",
        "tip -v",
        "tip -T {rev}{tags}",
        "tip -T json",
        "log",
        "log -l 3 -T {rev}",
        "log -T json",
        "log -r tip",
        "log -r null -T json",
        "heads",
        "parents -T {rev}",
        "phase",
        "summary",
    ]);
}

#[test]
fn templates_are_filled_wherever_they_are_taken() {
    let twin = Twin::reading();
    twin.all_same(&[
        "tip -T {rev}:{node|short}",
        "tip -T json",
        "parents -T {rev}{desc}",
        "heads -T {rev},",
        "heads -T json",
        "tip -T {nosuch}",
    ]);
}

#[test]
fn global_options_do_what_they_do() {
    let twin = Twin::reading();
    twin.all_same(&[
        "root --color always",
        "root --color never",
        "status --color nosuch",
        "root --pager nosuch",
        "root --pager=",
        "root --encodingmode nosuch",
        "root --encoding utf-8",
        "root --encoding latin-1",
        "root --noninteractive",
        "log -l 1 --hidden -T {rev}",
        "root --config-file nosuch",
        "root --config-fil nosuch",
    ]);
    for option in ["--profile", "--debugger"] {
        let Both { ours, .. } = twin.run(&["root", option]);
        assert_eq!(ours.code, Some(255));
        assert!(ours.stderr.contains("is not supported"), "{}", ours.stderr);
    }
    let twin = twin.with("HGPLAIN", "");
    twin.all_same(&[
        "root --color never",
        "root --color nosuch",
        "root --color auto",
        "status --color always",
        "status --config ui.color=always",
    ]);
}

#[test]
fn files_of_configuration_can_be_named_in_a_call() {
    let twin = empty();
    twin.each(|root| std::fs::write(root.join("more.rc"), "[ui]\nnew = value\n").unwrap());
    twin.all_same(&[
        "config ui.new --config-file more.rc",
        "config ui.new --config-file more.rc --config ui.new=other",
        "config ui.new --config ui.new=other --config-file more.rc",
        "--config-file more.rc config ui.new",
    ]);
}

#[test]
fn extensions_that_cannot_be_loaded_are_named() {
    let twin = empty();
    twin.all_same(&[
        "root --config extensions.nosuch=",
        "root --config extensions.nosuch=/nonexistent.py",
        "root --config extensions.nosuch=!",
        "root --config extensions.nosuch=!/nonexistent.py",
        "root --config extensions.rebase= --config extensions.hgext.mq=",
    ]);
    let Both { ours, .. } = twin.run(&["root", "--config", "extensions.largefiles="]);
    let words = "*** failed to import extension \"largefiles\": it is not part of this program\n";
    assert_eq!((ours.stderr.as_str(), ours.code), (words, Some(0)));
}

#[test]
fn what_is_no_text_is_refused_replaced_or_left_out() {
    use std::os::unix::ffi::OsStrExt;
    let twin = empty();
    twin.each(|root| {
        std::fs::write(root.join("latin"), b"caf\xe9 and more").unwrap();
        std::fs::write(root.join("cut"), b"text that ends in \xe2\x82").unwrap();
        std::fs::write(root.join("start"), b"\x80").unwrap();
        std::fs::write(root.join("inside"), b"a\xf0\x9f\x98b").unwrap();
    });
    twin.same(&["add", "latin"]);
    for file in ["latin", "cut", "start", "inside"] {
        twin.same(&["commit", "-d", "0 0", "-l", file]);
    }
    twin.same(&[
        "commit",
        "-d",
        "0 0",
        "-l",
        "latin",
        "--encodingmode",
        "replace",
    ]);
    twin.same(&["add", "cut"]);
    twin.same(&[
        "commit",
        "-d",
        "0 0",
        "-l",
        "cut",
        "--encodingmode",
        "ignore",
    ]);
    twin.same(&["log", "-T", "{node} {desc}\n"]);
    // Names cannot be given as text here: the harness takes strings.
    for words in [["bookmark"], ["branch"], ["tag"]] {
        let run = |program: &std::path::Path, root: &std::path::Path| {
            let mut command = std::process::Command::new(program);
            let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
            command.args(words).arg(name).current_dir(root);
            command
                .env("HGRCPATH", "")
                .env("HGUSER", "Ada")
                .env("HGPLAIN", "1");
            let done = command.output().unwrap();
            (
                String::from_utf8_lossy(&done.stderr).into_owned(),
                done.status.code(),
            )
        };
        let theirs = run(&varve_testkit::peers::hg_program(), twin.theirs());
        assert_eq!(theirs, run(&super::our_hg(), twin.ours()));
    }
}

const ALIASES: &str = "[alias]
plain = status -m
doc = log -r null
doc:doc = Logs the null rev.
doc:help = [A] [B]
doc:category = maintenance
sh = !echo foo $@
sh:doc = Echoes.
sh:help = WORDS
sh2 = !echo bar
bad = nosuchcommand
amb = pa
rec = doc --debug
none =
ll = log -v
log = ll -l 1
";

#[test]
fn help_describes_aliases() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        std::fs::write(path.join(".hg/hgrc"), ALIASES).unwrap();
    });
    let plain = twin.with("HGPLAIN", "");
    plain.all_same(&[
        "help sh",
        "help sh2",
        "help bad",
        "help amb",
        "help none",
        "help -q doc",
        "help -q rec",
        "help -q plain",
        "help -q log",
        "help -q ll",
        "doc -h -q",
        "sh -h",
        "help nosuchalias",
    ]);
    // The texts of commands are our own.
    let beginning = |text: &str| text.split("options").next().unwrap_or_default().to_owned();
    for name in ["doc", "rec"] {
        let both = plain.run(&["help", name]);
        assert_eq!(beginning(&both.theirs.stdout), beginning(&both.ours.stdout));
    }
    let lists = plain.run(&["help"]);
    for text in [&lists.theirs.stdout, &lists.ours.stdout] {
        for line in [
            " doc           Logs the null rev.",
            "Uncategorized commands:\n\n sh            Echoes.\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}

#[test]
fn help_has_topics_and_refuses_what_it_has_not() {
    let twin = Twin::of(Twin::reading().ours());
    twin.all_same(&[
        "help nosuch",
        "help -c revsets",
        "help -e nosuch",
        "help config.nosuch",
        "help patterns.nosuch",
        "help commit.nosuch",
    ]);
    // Mercurial imports all extensions for the search, after which it ends now and then with the code that is not detailed.
    twin.all_same(&["help -k nosuchword --config ui.detailed-exit-code=no"]);
    let ours = twin.run(&["help", "-k", "nosuchword"]).ours;
    assert_eq!(ours.code, Some(10), "{ours}");
    for topic in [
        "bundlespec",
        "config",
        "dates",
        "diffs",
        "environment",
        "hgignore",
        "patterns",
        "phases",
        "revisions",
        "scripting",
        "templating",
        "urls",
    ] {
        let Both { theirs, ours } = twin.run(&["help", topic]);
        assert_eq!((theirs.code, ours.code), (Some(0), Some(0)), "{topic}");
        assert!(ours.stdout.contains("\n\"\"\""), "{}", ours.stdout);
    }
    for (words, found) in [
        (
            &["help", "config.trusted"][..],
            "    \"trusted\"\n    ---------\n\n",
        ),
        (&["help", "-k", "phase"], "Topics:\n\n bundlespec "),
        (&["help", "-k", "phase"], "Commands:\n\n "),
        (&["help", "c"], "list of commands:\n\n"),
        (&["help", "revs"], "Names and Sets of Changesets\n"),
    ] {
        let Both { ours, .. } = twin.run(words);
        assert!(ours.stdout.contains(found), "{words:?}: {}", ours.stdout);
    }
    let all = hg().run(twin.ours(), &["help"]);
    assert!(all.stdout.contains("additional help topics:"));
}

//! Choosing among changes on a screen: the same keys in both programs, and the same changesets. Both run at a terminal.

use super::interactive::numbers;
use super::state::same_state;
use super::{Twin, our_hg};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use varve_testkit::peers::{Hg, TerminalCall, TerminalOutcome, hg, hg_program};
use varve_testkit::repos::{commit, write};

const SETTINGS: &[u8] = b"[ui]\ninterface = curses\n[extensions]\namend =\n\
    [devel]\ndefault-date = 1700000000 0\n";

/// Stands before the screen.
const START: &str = "starting interactive selection\n";

const DOWN: &str = "\x1bOB";
const RIGHT: &str = "\x1bOC";
const PAGE_DOWN: &str = "\x1b[6~";

fn begin(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    write(path, ".hg/hgrc", SETTINGS);
    write(path, "a", numbers(&[]).as_bytes());
    write(path, "bin", b"\0\x01");
    for name in ["gone", "mode", "moved"] {
        write(path, name, format!("{name}\n").as_bytes());
    }
    commit(hg, path, "zero");
    let changes = [
        (2, "two"),
        (4, "four"),
        (12, "12\ntwelve"),
        (19, "nineteen"),
    ];
    write(path, "a", numbers(&changes).as_bytes());
    write(path, "bin", b"\0\x02");
    hg.ok(path, &["remove", "gone"]);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path.join("mode"), mode).unwrap();
    hg.ok(path, &["rename", "moved", "new place"]);
    write(path, "new place", b"moved\nmore\n");
    write(path, "new", b"new\nlines\n");
    hg.ok(path, &["add", "new"]);
}

fn at_terminal(
    program: &Path,
    root: &Path,
    arguments: &[&str],
    call: &TerminalCall<'_>,
    terminal: &str,
) -> TerminalOutcome {
    let home = root.parent().unwrap().to_str().unwrap();
    let variables = [
        ("HOME", home),
        ("HGRCPATH", ""),
        ("HGUSER", "Ada Lovelace <ada@example.org>"),
        ("LC_ALL", "C.UTF-8"),
        ("TERM", terminal),
    ];
    let mut outcome = call.run(program, arguments, root, &variables);
    outcome.shown = outcome.shown.replace("/b/repository", "/a/repository");
    outcome
}

/// Types the same into both programs, which must end in the same way and leave the same.
#[track_caller]
fn typing(twin: &Twin, arguments: &[&str], keys: &str) -> TerminalOutcome {
    let call = TerminalCall {
        ready: "[x]",
        keys,
        signals: "",
    };
    let theirs = at_terminal(&hg_program(), twin.theirs(), arguments, &call, "xterm");
    let ours = at_terminal(&our_hg(), twin.ours(), arguments, &call, "xterm");
    assert_eq!(theirs, ours, "{arguments:?}: {keys:?}");
    assert!(ours.is_restored && ours.had_screen, "{ours:?}");
    same_state(twin);
    let diff = |path: &Path| hg().ok(path, &["diff", "--git"]);
    assert_eq!(diff(twin.theirs()), diff(twin.ours()));
    ours
}

/// The words behind the screen.
#[track_caller]
fn said(ended: &TerminalOutcome) -> &str {
    ended.shown.strip_prefix(START).unwrap()
}

#[test]
fn what_is_selected_is_committed() {
    let twin = Twin::writing(begin);
    // One line of a hunk, and a file; then a hunk less, by names of keys.
    let named = [RIGHT, RIGHT, DOWN, DOWN, " ", PAGE_DOWN, "xc"].concat();
    for keys in ["Allxjjjjxgjxc", &named] {
        typing(&twin, &["commit", "-i", "-m", "next"], keys);
    }
}

#[test]
fn nothing_is_committed_without_a_choice() {
    let twin = Twin::writing(begin);
    let arguments = ["commit", "-i", "-m", "one"];
    let ended = typing(&twin, &arguments, "xjq");
    assert_eq!((ended.code, said(&ended)), (255, "abort: user quit\n"));
    let ended = typing(&twin, &arguments, "Ac");
    assert_eq!((ended.code, said(&ended)), (1, "no changes to record\n"));
    let ended = typing(&twin, &arguments, "x,\x03");
    assert_eq!((ended.code, said(&ended)), (255, "interrupted!\n"));
    // The review is asked for, and given up.
    typing(&twin, &arguments, "xr,n,xq");
}

#[test]
fn hunks_patches_and_messages_are_edited() {
    let twin = Twin::writing(begin);
    let editor = |script: &str| format!("ui.editor=sed -i -e '{script}'");
    for (script, keys) in [
        ("s/^+two/+deux/", "llx,e,c"),
        ("s/^+four/+vier/", "Afjx,e,jxc"),
        ("s/^+twelve/+zwoelf/", "r,y"),
    ] {
        let editor = editor(script);
        let arguments = ["commit", "-i", "-m", "one", "--config", &editor];
        typing(&twin, &arguments, keys);
    }
    let twin = Twin::writing(begin);
    let failing = ["commit", "-i", "-m", "one", "--config", "ui.editor=false"];
    typing(&twin, &failing, "r,y");
    typing(&twin, &failing, "m");
    typing(&twin, &failing, "lx,e,x,c");
    let message = "ui.editor=f() { echo written > \"$1\"; }; f";
    typing(&twin, &["commit", "-i", "--config", message], "Alxm,c");
}

#[test]
fn other_commands_have_the_screen_too() {
    let twin = Twin::writing(begin);
    typing(&twin, &["shelve", "-i", "-n", "part"], "AjxGxc");
    typing(&twin, &["amend", "-i"], "Allxc");
    typing(&twin, &["revert", "-i", "a"], "Allxjxc");
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was() {
    let twin = Twin::writing(begin);
    for (signals, code, words) in [("TERM", 255, "killed!\n"), ("INT", 255, "interrupted!\n")] {
        let call = TerminalCall {
            ready: "[x]",
            keys: "x",
            signals,
        };
        let arguments = ["commit", "-i", "-m", "one"];
        let ended = at_terminal(&our_hg(), twin.ours(), &arguments, &call, "xterm");
        let expected = TerminalOutcome {
            code,
            is_restored: true,
            had_screen: true,
            shown: [START, words].concat(),
        };
        assert_eq!(ended, expected);
    }
    // A stop from outside gives the terminal back, and the screen comes again.
    let call = TerminalCall {
        ready: "[x]",
        keys: "",
        signals: "TSTP,CONT,INT",
    };
    let arguments = ["commit", "-i", "-m", "one"];
    let ended = at_terminal(&our_hg(), twin.ours(), &arguments, &call, "xterm");
    assert!(ended.is_restored && ended.had_screen, "{ended:?}");
    assert_eq!(said(&ended), "interrupted!\n");
    same_state(&twin);
}

#[test]
fn a_terminal_that_is_gone_ends_the_program() {
    let twin = Twin::writing(begin);
    let call = TerminalCall {
        ready: "[x]",
        keys: "x",
        signals: "GONE",
    };
    let arguments = ["commit", "-i", "-m", "one"];
    let ended = at_terminal(&our_hg(), twin.ours(), &arguments, &call, "xterm");
    assert_eq!(ended.code, 255, "{ended:?}");
    same_state(&twin);
}

#[test]
fn settings_and_terminals_decide_between_questions_and_the_screen() {
    let twin = Twin::writing(begin);
    let call = TerminalCall {
        ready: "examine",
        keys: "q\n",
        signals: "",
    };
    for (setting, terminal) in [
        ("ui.interface=curses", "dumb"),
        ("ui.interface=text", "xterm"),
        ("ui.interface=blah", "xterm"),
        ("ui.interface.chunkselector=text", "xterm"),
    ] {
        let arguments = ["commit", "-i", "-m", "one", "--config", setting];
        let [theirs, ours] = [(hg_program(), twin.theirs()), (our_hg(), twin.ours())]
            .map(|(program, root)| at_terminal(&program, root, &arguments, &call, terminal));
        assert_eq!(theirs, ours, "{setting}");
        assert!(!ours.had_screen && ours.is_restored);
    }
    // A wrong value is named, and the other setting counts.
    let wrong = "ui.interface.chunkselector=blah";
    typing(&twin, &["commit", "-i", "--config", wrong], "q");
}

#[test]
fn keys_may_come_from_a_file() {
    let twin = Twin::writing(begin);
    let twin = twin.with("HGPLAIN", "").with("TERM", "xterm");
    for keys in [
        "x\nKEY_DOWN\nx\nq\n",
        "A\nl\nl\nx\nj\nj\nj\nj\nx\nnonsense\nc\n",
        "f\nj\nKEY_RIGHT\nKEY_ENTER\nx\nc\n",
        "A\nKEY_DOWN\nx\nR\n",
        "x\na\nc\n",
    ] {
        twin.each(|path| write(path.parent().unwrap(), "keys", keys.as_bytes()));
        let script = "experimental.crecordtest=../keys";
        let arguments = ["commit", "-i", "-m", "one", "--config", script];
        let settings = [
            "--config",
            "ui.interactive=yes",
            "--config",
            "ui.editor=true",
        ];
        twin.same(&[&arguments[..], &settings].concat());
        same_state(&twin);
    }
}

//! The line of progress, with a terminal that is assumed so that its bytes can be compared.

use super::state::same_state;
use super::{Twin, our_hg};
use std::path::Path;
use std::process::Command;
use varve_testkit::peers::{Hg, hg_program};
use varve_testkit::repos::{commit, write};

/// Settings that show every count at once.
const AT_ONCE: [&str; 4] = [
    "--config=progress.assume-tty=1",
    "--config=progress.delay=0",
    "--config=progress.refresh=0",
    "--config=progress.changedelay=0",
];

fn files(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    for name in ["a", "b", "c", "d/e", "d/f"] {
        write(path, name, name.as_bytes());
    }
    commit(hg, path, "0");
}

/// Both programs' lines for a command with some settings.
fn same_lines(twin: &Twin, command: &str, settings: &[&str]) {
    let words = command.split_whitespace().chain(AT_ONCE);
    let settings = settings
        .iter()
        .map(|setting| format!("--config=progress.{setting}"));
    let words: Vec<String> = words.map(str::to_owned).chain(settings).collect();
    twin.same(&words.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn lines_are_made_of_the_fields_that_are_asked_for() {
    let twin = Twin::writing(files);
    // Times differ, so that no estimate and no speed is shown.
    for settings in [
        &["format=topic bar number", "width=60"][..],
        &["format=topic bar number"],
        &["format=bar topic unit wrong", "width=40"],
        &["format=number topic", "clear-complete=0"],
        &["format=topic bar", "width=5"],
        &["format=topic bar number", "width=0"],
        &["format=number", "disable=1"],
        &["format=number", "disable=maybe"],
        &["format=number", "width=wide"],
        &["format=number", "delay=1000"],
    ] {
        same_lines(&twin, "remove a d -n", settings);
    }
    for option in ["-q", "-v", "--debug"] {
        let command = format!("remove a b -n {option}");
        same_lines(&twin, &command, &["format=topic bar number"]);
    }
    let plain = Twin::writing(files).with("HGPLAIN", "1");
    same_lines(&plain, "remove a -n", &["format=number"]);
    let plain = plain.with("HGPLAINEXCEPT", "progress");
    same_lines(&plain, "remove a -n", &["format=number"]);
    // No line is so wide, but a setting may say so.
    let wide = Twin::writing(files).with("COLUMNS", "9223372036854775807");
    let words = [
        &[
            "remove",
            "a",
            "-n",
            "--config=progress.format=item-9999999999 bar",
        ][..],
        &AT_ONCE,
    ];
    assert_eq!(wide.run(&words.concat()).ours.code, Some(0));
    let narrow = Twin::writing(files).with("COLUMNS", "30");
    same_lines(&narrow, "remove a -n", &["format=topic bar number"]);
}

#[test]
fn steps_have_mercurials_topics() {
    let twin = Twin::writing(files);
    twin.each(|path| {
        write(path, "b", b"changed\n");
        write(path, "new", b"new\n");
    });
    for command in [
        "remove b d/e new",
        "remove -A c",
        "remove -f b",
        "archive -t tar ../shown.tar -X .hg_archival.txt",
        "update -C .",
    ] {
        same_lines(&twin, command, &["format=topic bar number"]);
    }
    same_state(&twin);
}

#[test]
fn counts_are_told_where_they_are_asked_for() {
    let twin = Twin::writing(files);
    for command in ["archive -t files ../told", "remove a d/f", "remove nosuch"] {
        let words: Vec<&str> = command.split_whitespace().collect();
        twin.same(&[&words[..], &["--debug", "--config=progress.debug=1"]].concat());
    }
    same_state(&twin);
}

#[test]
fn other_output_takes_the_line_away() {
    let twin = Twin::writing(files);
    let words = [
        "remove",
        "a",
        "b",
        "-n",
        "-v",
        "--config=progress.format=topic number",
    ];
    // A fork of the real program has no line of its own to take away, so it is started anew.
    let told = |program: &Path, root: &Path| {
        let mut command = Command::new(program);
        let output = command
            .args(words)
            .args(AT_ONCE)
            .current_dir(root)
            .env("HGRCPATH", "");
        output.output().unwrap().stderr
    };
    let theirs = told(&hg_program(), twin.theirs());
    assert_eq!(told(&our_hg(), twin.ours()), theirs);
    let cleared = theirs
        .split(|byte| *byte == b'\r')
        .filter(|part| part.starts_with(b"  "));
    assert_eq!(cleared.count(), 3);
}

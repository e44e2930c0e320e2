//! Output of `--debug` and `--verbose` while repositories talk.

use super::elsewhere::{Origin, empty};
use super::{Both, Twin};
use std::os::unix::fs::PermissionsExt;
use varve_testkit::peers::hg_program;
use varve_testkit::repos;

/// Compares the output of both programs: without numbers that depend on the form of requests,
/// and without words about features that this program lacks.
pub(super) struct IgnoredOutput {
    /// Lists of keys that stock `hg` asks for and this program does without.
    pub(super) unasked: &'static [&'static str],
    /// Beginnings of other lines that do not count.
    pub(super) unsaid: &'static [&'static str],
}

impl IgnoredOutput {
    /// Everything counts but how large requests are.
    pub(super) const ALL: IgnoredOutput = IgnoredOutput {
        unasked: &[],
        unsaid: &[],
    };

    /// Removes the ignored lines; gives the number of requests if it is told.
    fn trim(&self, text: &mut String) -> Option<usize> {
        let mut requests = None;
        let mut kept: Vec<String> = Vec::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(rest) = line.strip_prefix("(sent ") {
                assert!(rest.ends_with(" bytes in responses)"), "{line}");
                requests = rest.split(' ').next().unwrap().parse().ok();
                continue;
            }
            let is_unasked = self.unasked.iter().any(|name| {
                // Bookmarks are listed once by both.
                let is_first = *name == "bookmarks" && kept.iter().all(|kept| kept != line);
                line == format!("preparing listkeys for \"{name}\"") && !is_first
            });
            if is_unasked {
                assert_eq!(lines.next(), Some("sending listkeys command"));
                assert!(lines.next().unwrap().starts_with("received listkey for "));
                continue;
            }
            if self.unsaid.iter().any(|start| line.starts_with(start)) {
                continue;
            }
            let timed = ["stream-cloned ", "total queries in "];
            if line.starts_with("sending ") && line.ends_with(" bytes") {
                kept.push("sending some bytes".to_owned());
                continue;
            }
            let line = match timed.iter().any(|words| line.contains(words)) {
                true => line.rsplit_once(" in ").unwrap().0,
                false => line,
            };
            kept.push(line.to_owned());
        }
        *text = kept.iter().map(|line| format!("{line}\n")).collect();
        requests
    }

    /// Both say the same, and this program asks no more often.
    #[track_caller]
    pub(super) fn compare(&self, mut both: Both, words: &[&str]) {
        let [theirs, ours] =
            [&mut both.theirs.stdout, &mut both.ours.stdout].map(|text| self.trim(text));
        both.same(words);
        assert_eq!(theirs.is_some(), ours.is_some(), "{words:?}");
        assert!(
            ours <= theirs,
            "{words:?}: {ours:?} requests, not {theirs:?}"
        );
    }

    #[track_caller]
    fn all_same(&self, twin: &Twin, lines: &[&str]) {
        for line in lines {
            let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
            self.compare(twin.run(&words), &words);
        }
    }
}

/// Runs lines in both programs.
#[track_caller]
fn all_same(twin: &Twin, lines: &[&str]) {
    IgnoredOutput::ALL.all_same(twin, lines);
}

fn growing() -> Origin {
    let origin = Origin::nothing();
    origin.hg().ok(origin.directory(), &["init", "origin"]);
    let rc = "[phases]\npublish = no\n[web]\nallow-push = *\npush_ssl = no\n";
    repos::write(&origin.path(), ".hg/hgrc", rc.as_bytes());
    for name in ["a", "b", "c"] {
        origin.commit(name);
    }
    origin.ok("bookmark -r 1 mark");
    origin
}

#[test]
fn pulls_tell_what_they_ask_and_read() {
    let origin = growing();
    let server = origin.serve();
    let url = server.url();
    let twin = empty();
    all_same(
        &twin,
        &[
            &format!("pull --debug -r 0 {url}"),
            &format!("pull --debug -r 0 {url}"),
            &format!("pull --debug {url}"),
            &format!("pull --debug {url}"),
            &format!("pull --debug -B mark {url}"),
            &format!("pull --debug -b default {url}"),
            &format!("pull --debug -b nope {url}"),
            &format!("pull -v {url}"),
            &format!("incoming --debug {url}"),
            &format!("outgoing --debug {url}"),
            &format!("outgoing -v -B {url}"),
            "init second",
            &format!("-R second pull -v {url}"),
        ],
    );
}

#[test]
fn bundles_tell_their_parts() {
    let origin = growing();
    let twin = empty();
    let mut lines = Vec::new();
    for (number, kind) in ["none-v2", "zstd-v2", "gzip-v1", "none-v2;phases=yes"]
        .into_iter()
        .enumerate()
    {
        let bundle = origin.directory().join(format!("{number}.hg"));
        let bundle = bundle.to_str().unwrap().to_owned();
        origin.ok(&format!("bundle -q -a -t {kind} {bundle}"));
        lines.push(format!("init r{number}"));
        lines.push(format!("-R r{number} unbundle --debug {bundle}"));
        lines.push(format!("-R r{number} unbundle --debug {bundle}"));
        lines.push(format!("-R r{number} unbundle -v {bundle}"));
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    all_same(&twin, &lines);
}

/// Stock `hg` asks for namespaces before it lists bookmarks, and for phases when it shows incoming changesets.
const UNASKED: &[&str] = &["namespaces", "phases"];

/// Lines about the plan of an update, and about caches; `protocaps`, which this program does not send; a part
/// that stock `hg` reads to show incoming changesets.
const UNSAID: &[&str] = &[
    " branchmerge: ",
    " ancestor: ",
    " a: remote created",
    " b: remote created",
    " c: remote created",
    "updating the branch cache",
    "sending protocaps command",
    "bundle2-input-part: total payload size ",
];

const TALK: IgnoredOutput = IgnoredOutput {
    unasked: UNASKED,
    unsaid: UNSAID,
};

/// Every command that only reads there, from the first words on.
fn talk(url: &str, options: &str) {
    let twin = empty();
    for loud in ["-v", "--debug"] {
        let name = loud.trim_start_matches('-');
        TALK.all_same(
            &twin,
            &[
                &format!("identify {loud} {options} {url}"),
                &format!("identify {loud} {options} -r nope {url}"),
                &format!("clone {loud} {options} {url} {name}"),
                &format!("clone -U --stream {loud} {options} {url} {name}-streamed"),
                &format!("clone -U -r 0 {loud} {options} {url} {name}-first"),
                &format!("-R {name}-first incoming {loud} {options} {url}"),
                &format!("-R {name}-first incoming -B {loud} {options} {url}"),
                &format!("-R {name}-first outgoing {loud} {options} {url}"),
                &format!("-R {name}-first outgoing -B {loud} {options} {url}"),
                &format!("-R {name}-first pull {loud} {options} {url}"),
                &format!("-R {name} pull {loud} {options} {url}"),
                &format!("-R {name} pull {loud} {options} {url} {url}"),
            ],
        );
    }
    let bookmarks = twin.run(&["-R", "debug-streamed", "bookmarks"]);
    assert!(bookmarks.ours.stdout.contains("mark"), "{}", bookmarks.ours);
    bookmarks.same(&["bookmarks"]);
}

#[test]
fn all_that_is_asked_over_http_is_told() {
    let origin = growing();
    let server = origin.serve();
    talk(server.url(), "");
}

#[test]
fn all_that_is_asked_over_ssh_is_told() {
    let origin = growing();
    let script = origin.directory().join("ssh");
    let text = b"#!/bin/sh\necho welcome\nfor command; do :; done\nexec sh -c \"$command\"\n";
    repos::write(origin.directory(), "ssh", text);
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = hg_program();
    let options = format!(
        "--ssh {} --remotecmd {}",
        script.display(),
        program.display()
    );
    talk(
        &format!("ssh://user@host/{}", origin.path().display()),
        &options,
    );
}

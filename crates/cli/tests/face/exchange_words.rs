//! What `--debug` and `--verbose` say while repositories talk.

use super::Twin;
use super::elsewhere::{Origin, empty};
use varve_testkit::repos;

/// Runs lines in both programs; how many bytes went over the connection may be different.
#[track_caller]
fn all_same(twin: &Twin, lines: &[&str]) {
    for line in lines {
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        let mut both = twin.run(&words);
        for text in [&mut both.theirs.stdout, &mut both.ours.stdout] {
            let kept = text.split_inclusive('\n');
            *text = kept.filter(|line| !line.starts_with("(sent ")).collect();
        }
        both.same(&words);
    }
}

fn growing() -> Origin {
    let origin = Origin::nothing();
    origin.hg().ok(origin.folder(), &["init", "origin"]);
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
        let bundle = origin.folder().join(format!("{number}.hg"));
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

//! The command of the extension `amend`.

use super::Twin;
use super::state::same_state;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

const EXTENSION: &str = "[extensions]\namend =\n";
const MARKERS: &str = "[experimental]\nevolution = createmarkers\n";

fn begin(hg: &Hg, path: &Path, settings: &str) {
    hg.ok(path, &["init"]);
    write(path, ".hg/hgrc", [EXTENSION, settings].concat().as_bytes());
    write(path, "a", b"a\n");
    write(path, "b", b"b\n");
    commit(hg, path, "zero");
    write(path, "a", b"one\n");
    commit(hg, path, "one");
}

#[test]
fn the_description_stays() {
    for settings in [MARKERS, ""] {
        let twin = Twin::writing_with(|hg, path| begin(hg, path, settings));
        for (number, line) in [
            "amend",
            "amend a -n noted",
            "amend -m other",
            "amend -e --config ui.editor=true -v",
            "amend -U --secret",
            "amend -u Grace -X a",
            "amend -A --close-branch",
        ]
        .iter()
        .enumerate()
        {
            twin.each(|path| {
                write(path, "a", format!("{number}\n").as_bytes());
                write(path, "b", format!("{number}\n").as_bytes());
            });
            twin.all_same(&[line, "status"]);
            same_state(&twin);
            let markers = |path: &Path| hg().run(path, &["debugobsolete"]).stdout;
            assert_eq!(markers(twin.theirs()), markers(twin.ours()));
        }
    }
}

#[test]
fn refusals() {
    let twin = Twin::writing(|hg, path| begin(hg, path, ""));
    let long = "n".repeat(256);
    twin.all_same(&[
        "amend",
        "amend -D -d 0",
        "amend -U -u x",
        "amend -m x -l y",
        "update -q null",
        "amend",
    ]);
    twin.same(&["amend", "-n", &long]);
    twin.same(&["amend", "-n", "two\nlines"]);
    same_state(&twin);
}

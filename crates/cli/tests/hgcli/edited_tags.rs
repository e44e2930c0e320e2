//! `tag --edit`: the user's words about a tag.

use super::Twin;
use super::state::same_state;
use varve_testkit::repos::{commit, write};

#[test]
fn the_description_of_a_tag_is_edited() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, "a", b"a\n");
        hg.ok(path, &["add", "a"]);
        commit(hg, path, "zero");
    });
    let editor = "--config=ui.editor=echo $HGEDITFORM; cat";
    let appends = "--config=ui.editor=echo more >>";
    let empties = "--config=ui.editor=true >";
    for words in [
        &["tag", "-e", "first", editor][..],
        &["tag", "--edit", "second", "-m", "typed", appends],
        &["tag", "-e", "--remove", "first", editor],
        &["tag", "-e", "-l", "local", appends],
        &["tag", "-e", "third", "fourth", "-r", "0", empties],
        &["status"],
        &["log", "-T", "{rev}:{node} {desc}\n"],
    ] {
        twin.same(words);
        same_state(&twin);
    }
}

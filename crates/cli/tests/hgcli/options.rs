//! Names, options and messages about wrong ones.

use super::Twin;

#[test]
fn wrong_names_and_options_are_refused_in_the_same_words() {
    let twin = Twin::reading();
    twin.all_same(&[
        "bogus",
        "-q --bogus root",
        "-R",
        "--cwd",
        "--config foo root",
        "--config foo.bar root",
        "--config foo=bar root",
        "--cwd nope root",
        "-R nope root",
        "-qR . root",
        "root -qR .",
        "--conf a.b=c root",
        "root --cw .",
        "--repos . root",
        "ver",
        "b",
    ]);
    for line in [
        "root x",
        "root -- x",
        "root --bogus",
        "root -Z",
        "root --cwd",
        "root --no-",
        "root --quiet=x",
        "init a b",
        "version --templ",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        twin.same_but_output(&words);
    }
}

#[test]
fn global_options_stand_before_and_behind_the_command() {
    let twin = Twin::reading();
    twin.all_same(&[
        "root -q",
        "-R . root",
        "-R. root",
        "root --repository .",
        "root --repo=.",
        "--cwd dir root",
        "--cwd dir -R .. root",
        "--debug root --no-debug",
        "-- root",
        "--noninteractive root --no-quiet",
    ]);
    twin.same_in("dir", &["root"]);
    twin.same_in("/", &["root"]);
}

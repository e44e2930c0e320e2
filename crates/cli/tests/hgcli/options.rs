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

/// With `HGPLAIN=+strictflags` options that come before the configuration stand in front; a value that a script passes on is never
/// one of them.
#[test]
fn early_options_may_have_to_come_first() {
    let lines = [
        "log -T {rev} -b --config=hooks.pre-log=false",
        "log -T {rev} -b -R. default",
        "log -T {rev} -b --cwd=.. default",
        "log -T {rev} --config hooks.pre-log=false -b default",
        "log -T {rev} --cwd=.. -b default",
        "log -T {rev} -q -R . -b default",
        "--config hooks.pre-log=false log -T {rev}",
        "--cwd .. -q -Rrepository log -T {rev}",
        "--cwd .. --color never --repo repository log -T {rev}",
    ];
    for plain in ["+strictflags", "1"] {
        let twin = Twin::reading().with("HGPLAIN", plain);
        twin.all_same(&lines);
        twin.same(&["log", "-b", "--config=alias.log=!echo called"]);
    }
}

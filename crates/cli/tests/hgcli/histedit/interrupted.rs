//! Edits that stop: continued and given up, also by the other program.

use super::{after_each, both_ways, edit, same, twin, write_plan};
use crate::hgcli::our_hg;
use std::path::Path;
use std::process::Command;
use varve_testkit::peers::hg;
use varve_testkit::repos::write;

#[test]
fn an_edit_stops_and_goes_on() {
    for twin in both_ways() {
        edit(
            &twin,
            "1",
            &["pick 2", "edit 1", "pick 3", "fold 4", "edit 5"],
        );
        twin.all_same(&["status -v", "summary", "abort -n", "continue -n"]);
        twin.all_same(&["update 0", "graft 0", "shelve", "histedit 1", "unshelve"]);
        after_each(&twin, &["histedit --continue", "continue"]);
    }
}

#[test]
fn an_edit_splits_a_changeset() {
    for twin in both_ways() {
        edit(&twin, "4", &["edit 4", "pick 5"]);
        after_each(&twin, &["commit -m part d/e", "commit -m rest"]);
        after_each(&twin, &["histedit --continue"]);
    }
}

#[test]
fn an_edit_is_given_up() {
    for twin in both_ways() {
        edit(
            &twin,
            "1",
            &["pick 2", "fold 4", "edit 1", "pick 3", "pick 5"],
        );
        after_each(&twin, &["histedit --abort", "abort"]);
    }
}

#[test]
fn conflicts_are_settled() {
    for plan in [
        ["drop 2", "pick 5"],
        ["pick 5", "fold 2"],
        ["edit 5", "pick 2"],
    ] {
        for twin in both_ways() {
            write_plan(&twin, &[plan[0], plan[1], "pick 3", "pick 4"]);
            after_each(&twin, &["histedit --commands plan 2"]);
            twin.all_same(&["histedit -c", "status -v", "resolve -l"]);
            for text in ["first\n", "second\n"] {
                twin.each(|path| write(path, "a", text.as_bytes()));
                after_each(&twin, &["resolve -m", "histedit --continue"]);
            }
        }
    }
}

#[test]
fn the_rest_of_the_plan_is_changed() {
    let twin = twin("");
    edit(&twin, "3", &["edit 3", "pick 4", "pick 5"]);
    write_plan(&twin, &["drop 5", "edit 3"]);
    after_each(&twin, &["histedit --edit-plan --commands plan"]);
    write_plan(&twin, &["edit 3", "drop 5", "pick 4"]);
    after_each(
        &twin,
        &["histedit --edit-plan --commands plan", "histedit -c"],
    );
}

#[test]
fn each_program_ends_what_the_other_began() {
    let ours = |path: &Path, arguments: &[&str]| {
        let ran = Command::new(our_hg())
            .args(arguments)
            .current_dir(path)
            .env("HGRCPATH", "")
            .env("HGEDITOR", "true")
            .env("HGUSER", "Ada Lovelace <ada@example.org>")
            .output();
        ran.unwrap()
    };
    for end in ["--continue", "--abort"] {
        for is_ours_first in [true, false] {
            for twin in both_ways() {
                write_plan(&twin, &["pick 3", "edit 1", "fold 4", "pick 2", "pick 5"]);
                let begin = ["histedit", "--commands", "plan", "1"];
                let theirs = |path: &Path, arguments: &[&str]| {
                    let more = ["--config", "ui.editor=true"];
                    drop(hg().run(path, &[arguments, &more].concat()));
                };
                theirs(twin.theirs(), &begin);
                theirs(twin.theirs(), &["histedit", end]);
                match is_ours_first {
                    true => {
                        assert_eq!(ours(twin.ours(), &begin).status.code(), Some(1));
                        theirs(twin.ours(), &["histedit", end]);
                    }
                    false => {
                        theirs(twin.ours(), &begin);
                        assert_eq!(ours(twin.ours(), &["histedit", end]).status.code(), Some(0));
                    }
                }
                same(&twin);
            }
        }
    }
}

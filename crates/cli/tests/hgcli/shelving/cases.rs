//! Options, names, lists, and what is shelved.

use super::{after_each, changed, same, twin};
use crate::hgcli::Twin;
use std::time::{Duration, SystemTime};
use varve_testkit::peers::hg;
use varve_testkit::repos::write;

#[test]
fn all_changes_go_and_come_back() {
    for options in ["", " -A", " -u", " -A -u", " -k", " --date 5"] {
        let twin = twin();
        after_each(&twin, &[&format!("shelve{options}"), "diff --git"]);
        twin.each(|path| drop(hg().ok(path, &["update", "-q", "-C", "0"])));
        twin.each(|path| drop(hg().ok(path, &["purge", "--all", "--no-confirm"])));
        after_each(&twin, &["unshelve", "diff --git", "unshelve"]);
    }
}

#[test]
fn some_changes_go_and_come_back_over_the_others() {
    for what in ["a", "d", "a new", "-I d/**", "-X a", "-n part a d/moved"] {
        let twin = twin();
        let shelve = format!("shelve {what}");
        after_each(&twin, &[&shelve, "unshelve -k", "diff --git", "unshelve"]);
    }
}

#[test]
fn changes_come_back_over_another_parent() {
    for options in ["", " -k", " -v", " -t :local"] {
        let twin = twin();
        after_each(&twin, &["shelve", "update 1"]);
        // The steps in between are our own.
        let line = format!("unshelve{options}");
        match options {
            " -v" => drop(twin.run(&["unshelve", "-v"])),
            _ => twin.all_same(&[&line]),
        }
        same(&twin);
        after_each(&twin, &["diff --git", "shelve", "unshelve"]);
    }
}

#[test]
fn names_are_those_of_bookmarks_and_branches() {
    let twin = twin();
    let change = |text: &'static str| {
        twin.each(|path| write(path, "a", text.as_bytes()));
    };
    after_each(&twin, &["shelve -n named", "shelve -n named"]);
    for (number, line) in ["bookmark a/b", "bookmark .c", "bookmark -i .c", "branch x"]
        .into_iter()
        .enumerate()
    {
        change(["1\n", "2\n", "3\n", "4\n"][number]);
        after_each(&twin, &[line, "shelve", "branch"]);
    }
    change("5\n");
    after_each(
        &twin,
        &[
            "shelve -n a/b",
            "shelve -n a\\b",
            "shelve -n .a",
            "shelve -n named",
            "shelve -m words",
            "unshelve",
            "branch",
            "unshelve default",
            "branch",
        ],
    );
}

#[test]
fn a_branch_that_was_begun_is_begun_again() {
    let twin = twin();
    after_each(
        &twin,
        &[
            "branch other",
            "shelve a",
            "unshelve",
            "branch another",
            "shelve",
            "branch",
            "update 1",
            "unshelve",
            "branch",
        ],
    );
}

/// Makes a shelved change some days old, so that its age does not change meanwhile.
fn age(twin: &Twin, name: &str, days: u64) {
    let at = SystemTime::now() - Duration::from_secs(86_400 * days + 3_600);
    twin.each(|path| {
        for suffix in ["shelve", "patch", "hg"] {
            let file = path.join(format!(".hg/shelved/{name}.{suffix}"));
            let file = std::fs::File::options().append(true).open(file).unwrap();
            file.set_modified(at).unwrap();
        }
    });
}

#[test]
fn lists_show_patches() {
    let twin = twin();
    twin.all_same(&["shelve -q -n one", "unshelve -q -k", "shelve -q"]);
    twin.each(|path| write(path, "b", b"\0binary"));
    twin.each(|path| drop(hg().ok(path, &["shelve", "-m", "two\nlines", "-n", "two"])));
    for (name, days) in [("one", 5), ("default", 4), ("two", 3)] {
        age(&twin, name, days);
    }
    twin.all_same(&[
        "shelve -l",
        "shelve -q -l",
        "shelve -l one",
        "shelve -l none",
        "shelve -l -p",
        "shelve -l --stat",
        "shelve -p",
        "shelve --stat",
        "shelve -p one two",
        "shelve --stat one",
        "shelve -p none",
        "shelve -p --stat",
    ]);
    after_each(
        &twin,
        &[
            "shelve -d none",
            "shelve -d one none",
            "shelve -d two two",
            "shelve -d",
        ],
    );
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let twin = twin();
    for line in [
        "shelve --cleanup a",
        "shelve --cleanup -d",
        "shelve -l -d a",
        "shelve -l -A",
        "shelve -l -u",
        "shelve -l -k",
        "shelve -l -n x",
        "shelve -d -m x y",
        "shelve -p -e",
        "shelve -i",
        "shelve none",
        "shelve -X ** ",
        "unshelve",
        "unshelve none",
        "unshelve a b",
        "unshelve -n a b",
        "unshelve -a",
        "unshelve -c",
        "unshelve -a -c",
        "unshelve -a x",
        "unshelve -i -k",
        "unshelve -a -t :local",
        "abort",
        "continue",
    ] {
        twin.all_same(&[line, &format!("{line} --config ui.detailed-exit-code=yes")]);
    }
    same(&twin);
}

#[test]
fn used_shelves_are_kept_up_to_a_number() {
    let twin = twin();
    after_each(
        &twin,
        &[
            "shelve -q",
            "unshelve -q",
            "shelve -q",
            "unshelve -q",
            "shelve -q",
            "unshelve -q --config shelve.maxbackups=0",
            "shelve -q",
            "shelve --cleanup --config shelve.maxbackups=x",
            "shelve --cleanup",
        ],
    );
}

#[test]
fn an_untracked_file_in_the_way_is_kept() {
    let twin = twin();
    twin.all_same(&["shelve -q"]);
    twin.each(|path| write(path, "new", b"mine\n"));
    after_each(&twin, &["unshelve"]);
}

#[test]
fn changes_that_are_there_already_are_noted() {
    let twin = twin();
    after_each(&twin, &["shelve -k", "unshelve"]);
}

#[test]
fn an_empty_repository_can_shelve() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, ".hg/hgrc", super::DATES.as_bytes());
        write(path, "a", b"a\n");
        hg.ok(path, &["add", "a"]);
    });
    after_each(&twin, &["shelve", "shelve"]);
    age(&twin, "default", 3);
    after_each(&twin, &["shelve -p", "unshelve"]);
}

#[test]
fn each_program_brings_back_what_the_other_put_away() {
    let twin = Twin::writing(changed);
    twin.all_same(&["shelve -u"]);
    let change_over = twin.run(&["update", "-q", "1"]);
    change_over.same(&["update"]);
    // The real program in our copy, ours in its copy.
    hg().ok(twin.ours(), &["unshelve", "-q"]);
    let ours = std::process::Command::new(crate::hgcli::our_hg())
        .args(["unshelve", "-q"])
        .current_dir(twin.theirs())
        .env("HGRCPATH", "")
        .status();
    assert!(ours.unwrap().success());
    same(&twin);
}

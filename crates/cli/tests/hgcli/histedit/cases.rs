//! Plans of all kinds.

use super::{MARKERS, after_each, both_ways, edit, same, twin, write_plan};
use varve_testkit::peers::hg;
use varve_testkit::repos::write;

#[test]
fn lines_change_places_and_are_left_out() {
    for twin in both_ways() {
        edit(
            &twin,
            "1",
            &["pick 1", "pick 2", "pick 3", "pick 4", "pick 5"],
        );
        edit(&twin, "3", &["pick 4", "pick 3", "drop 5"]);
    }
    for twin in both_ways() {
        edit(
            &twin,
            "1",
            &["pick 2", "drop 1", "drop 3", "drop 4", "drop 5"],
        );
    }
}

#[test]
fn changesets_are_combined() {
    let plans: [&[&str]; 5] = [
        &["pick 1", "fold 2", "pick 3", "pick 4", "pick 5"],
        &["pick 1", "pick 2", "roll 3", "roll 4", "pick 5"],
        &["pick 1", "fold 2", "fold 3", "roll 4", "mess 5"],
        &["pick 2", "fold 4", "pick 1", "fold 3", "pick 5"],
        &["pick 1", "roll 3", "fold 2", "drop 4", "drop 5"],
    ];
    for plan in plans {
        for twin in both_ways() {
            let twin = twin.with("HGEDITOR", "sed -i -e s/o/0/");
            // The last of these plans drops a change that another one needs.
            edit(&twin, "1", plan);
        }
    }
}

#[test]
fn a_plan_may_go_on_from_another_changeset() {
    for twin in both_ways() {
        edit(&twin, "4", &["base 1", "pick 4", "drop 5"]);
    }
}

#[test]
fn the_root_may_be_the_first_changeset() {
    for twin in both_ways() {
        edit(
            &twin,
            "0",
            &["pick 1", "pick 0", "pick 2", "pick 3", "pick 4", "pick 5"],
        );
    }
}

#[test]
fn the_old_changesets_may_stay() {
    for twin in both_ways() {
        write_plan(&twin, &["pick 2", "pick 1", "fold 3", "drop 4", "drop 5"]);
        after_each(&twin, &["histedit --keep --commands plan 1"]);
    }
}

#[test]
fn a_changeset_that_brings_nothing_is_skipped() {
    for twin in both_ways() {
        for (number, text) in [(6, "back\n"), (7, "AA\n1\n2\nZ\n")] {
            twin.each(|path| {
                write(path, "a", text.as_bytes());
                super::commit(&hg(), path, number, "more");
            });
        }
        edit(&twin, "6", &["drop 6", "pick 7"]);
    }
}

#[test]
fn wrong_plans_are_refused() {
    let twin = twin("");
    let node = hg().ok(twin.theirs(), &["log", "-r", "5", "-T", "{node|short}"]);
    let below = hg().ok(twin.theirs(), &["log", "-r", "0", "-T", "{node|short}"]);
    let plans = [
        String::new(),
        "# nothing\n".to_owned(),
        "pick\n".to_owned(),
        format!("keep {node}\n"),
        "pick zzz\n".to_owned(),
        "pick 123\n".to_owned(),
        "pick 123456\n".to_owned(),
        format!("fold {node}\n"),
        format!("r {node}\n"),
        format!("pick {below}\n"),
        format!("base {node}\n"),
        format!("pick {node}\npick {node}\n"),
    ];
    for plan in plans {
        twin.each(|path| write(path, "plan", plan.as_bytes()));
        twin.all_same(&["histedit --commands plan 5", "histedit --abort"]);
    }
    twin.each(|path| write(path, "plan", b""));
    let line = "histedit --commands plan 4 --config histedit.dropmissing=yes";
    twin.all_same(&[line, "histedit --commands none 4"]);
    write_plan(&twin, &["pick 5"]);
    after_each(&twin, &[line]);
}

#[test]
fn what_cannot_be_edited_is_refused() {
    let twin = twin("");
    write_plan(&twin, &["pick 5"]);
    twin.all_same(&[
        "histedit --commands plan null",
        "histedit --commands plan 99",
        "histedit --commands plan -r 4 5",
        "histedit --commands plan --config histedit.defaultrev=none()",
        "histedit --continue",
        "histedit --abort",
        "histedit --edit-plan",
        "histedit -c --abort",
        "histedit -c 3",
        "histedit --abort -r 3",
    ]);
    after_each(&twin, &["phase -p 2", "histedit --commands plan 2"]);
    twin.all_same(&[
        "update -q 4",
        "histedit --commands plan 5",
        "histedit --commands plan 4",
    ]);
    twin.each(|path| write(path, "a", b"changed\n"));
    twin.all_same(&["histedit --commands plan 4"]);
}

#[test]
fn the_editor_shows_the_plan() {
    for line in [
        "histedit 1",
        "histedit",
        "histedit -r 3",
        "histedit --config histedit.linelen=24 2",
        "histedit --config histedit.linelen=1 2",
        "histedit --config histedit.defaultrev=4:5",
    ] {
        twin("").with("HGEDITOR", "cat").all_same(&[line]);
    }
}

#[test]
fn what_another_repository_lacks_is_edited() {
    let twin = twin("").with("HGEDITOR", "cat");
    twin.all_same(&[
        "clone -q -r 2 . other",
        "histedit --outgoing other",
        "histedit --outgoing other --config histedit.summary-template={author}\\n{rev}",
        "histedit --outgoing -r 1 other",
        "histedit --outgoing other other",
        "histedit --outgoing",
        "histedit --outgoing .",
        "histedit --outgoing nowhere",
    ]);
    // Two lines of development are outgoing.
    twin.each(|root| write(root, "new", b"new\n"));
    twin.same(&["update", "-q", "0"]);
    twin.same(&["commit", "-A", "-m", "apart", "-d", "0 0"]);
    twin.same(&["histedit", "--outgoing", "other"]);
}

#[test]
fn new_changesets_are_told_through_templates() {
    let many = "{nodechanges % '{oldnode}:{newnodes % '{node} '}\n'}";
    for twin in both_ways() {
        write_plan(&twin, &["pick 3", "roll 4", "drop 5"]);
        twin.same(&["histedit", "--commands", "plan", "3", "-q", "-T", many]);
        write_plan(&twin, &["pick 1", "edit 2"]);
        let plan = std::fs::read(twin.theirs().join("plan")).unwrap();
        let last = hg().ok(
            twin.theirs(),
            &["log", "-r", ".", "-T", "pick {node|short}\n"],
        );
        twin.each(|path| write(path, "plan", &[&plan[..], last.as_bytes()].concat()));
        twin.same(&["histedit", "--commands", "plan", "1", "-T", "json"]);
        twin.same(&["histedit", "--continue", "-T", "{nodechanges|json}"]);
        same(&twin);
    }
}

#[test]
fn descriptions_may_choose_actions() {
    let twin = twin(MARKERS).with("HGEDITOR", "cat");
    twin.each(|path| {
        for (at, text) in ["Fold! two", "drop! nosuch", "r! two", "roll! Fold! two"]
            .into_iter()
            .enumerate()
        {
            write(path, &format!("z{at}"), text.as_bytes());
            super::commit(&hg(), path, 6 + at, text);
        }
    });
    let on = "--config=experimental.histedit.autoverb=yes";
    twin.same(&["histedit", "1", on]);
    same(&twin);
}

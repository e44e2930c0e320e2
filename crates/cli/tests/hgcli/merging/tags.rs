//! Merging `.hgtags` by `:tagmerge`.

use super::super::Twin;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos::write;

/// Lines such as `1a`: the first digit of all of a node, and a tag.
fn tags(lines: &[&str]) -> String {
    let line = |line: &&str| format!("{} {}\n", line[..1].repeat(40), &line[1..]);
    lines.iter().map(line).collect()
}

/// A base and two heads that have these tags; the working copy is at the first.
fn heads(hg: &Hg, path: &Path, [base, ours, theirs]: [&[&str]; 3]) {
    let commit = |lines: &[&str], name: &str| {
        write(path, ".hgtags", tags(lines).as_bytes());
        write(path, name, b"");
        hg.ok(path, &["commit", "-A", "-m", name, "-d", "0 0"]);
    };
    hg.ok(path, &["init"]);
    commit(base, "base");
    commit(ours, "ours");
    hg.ok(path, &["update", "-q", "0"]);
    commit(theirs, "theirs");
    hg.ok(path, &["update", "-q", "1"]);
}

fn merged(sides: [&[&str]; 3], arguments: &[&str]) -> Twin {
    let twin = Twin::writing_with(|hg, path| heads(hg, path, sides));
    twin.same(arguments);
    for name in [".hgtags", ".hgtags.orig"] {
        let read = |root: &Path| std::fs::read(root.join(name)).ok();
        assert_eq!(read(twin.theirs()), read(twin.ours()), "{sides:?}");
    }
    twin.same(&["resolve", "-l"]);
    twin
}

#[test]
fn histories_of_tags_are_merged() {
    let base: &[&str] = &["1a", "2b"];
    let by_tool = ["merge", "--tool", ":tagmerge", "-v"];
    let sides: &[[&[&str]; 2]] = &[
        [&["1a", "2b", "1a", "3a"], &["1a", "2b", "4c"]],
        [&["2b", "1a", "3d"], &["1a", "2b", "1a", "3a", "2b", "4b"]],
        [&["2b", "4c"], &["1a", "3d"]],
    ];
    for [ours, theirs] in sides {
        merged([base, ours, theirs], &by_tool);
    }
}

#[test]
fn tags_of_one_age_conflict_and_the_file_stays() {
    let sides: [&[&str]; 3] = [&["1a"], &["1a", "2z", "2b"], &["1a", "3b", "3z"]];
    let twin = merged(sides, &["merge", "--config", "ui.merge=internal:tagmerge"]);
    twin.same(&["resolve", "--all", "--tool", ":merge"]);
    twin.same(&["resolve", "--mark", "--all"]);
    let by_pattern = ["merge", "--config", "merge-patterns..hgtags=:tagmerge"];
    merged([&["1a"], &["1a", "2b"], &["1a", "3c"]], &by_pattern);
}

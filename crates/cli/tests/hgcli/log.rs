//! `log`.

use super::Twin;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos;

/// Branches, a merge, copies, removals, tags, bookmarks, phases, users and days.
pub fn history(hg: &Hg, path: &Path) {
    let commit = |message: &str, user: &str, date: &str| {
        hg.ok(
            path,
            &["commit", "-A", "-m", message, "-u", user, "-d", date],
        );
    };
    hg.ok(path, &["init"]);
    repos::write(path, "a", b"1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    repos::write(path, "dir/b", b"b\n");
    repos::write(path, "gone", b"gone\n");
    commit(
        "one\ntwo lines\n\nthree",
        "Ada Lovelace <ada@example.org>",
        "0 0",
    );
    hg.ok(path, &["copy", "a", "copied"]);
    repos::write(path, "a", b"1\n2\n3\n4\nfive\n6\n7\n8\n9\n");
    repos::write(path, "binary", b"x\0y\n");
    hg.ok(path, &["remove", "gone"]);
    commit("second", "bob", "1000000 -3600");
    hg.ok(path, &["update", "0"]);
    hg.ok(path, &["branch", "stable"]);
    repos::write(path, "z", b"no newline");
    commit(
        "third: K\u{e4}se",
        "carol <c@example.org>",
        "2006-12-06 13:18",
    );
    hg.ok(path, &["update", "1"]);
    hg.ok(path, &["merge", "2"]);
    commit("merge", "bob", "1165432709 18000");
    hg.ok(path, &["tag", "v1", "-d", "0 0"]);
    hg.ok(path, &["bookmark", "bm"]);
    hg.ok(path, &["rename", "dir/b", "dir/c"]);
    repos::write(path, "a", b"0\n1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n");
    repos::write(path, "binary", b"x\0z\n");
    commit("renamed", "bob", "2010-01-01");
    hg.ok(path, &["phase", "--public", "-r", "2"]);
}

#[test]
fn changesets_are_shown_and_chosen() {
    Twin::writing(history).all_same(&[
        "log",
        "log -v",
        "log --debug",
        "log -q",
        "log -l 2",
        "log -l x",
        "log -l 0",
        "log -r 1:3",
        "log -r null --debug",
        "log -r 1 -r 0 -r 1",
        "log -v -C",
        "log -C -r 1",
        "log -u bob -q",
        "log -u bob -u ada -M",
        "log -k LINES -k merge",
        "log -b stable",
        "log -b default -m",
        "log -b nosuch",
        "log -d 2006-12-06",
        "log -d >2000",
        "log -d foo",
        "log -P 3 -q",
        "log -f -q",
        "log --follow-first -q",
        "log --follow-first -G -q README",
        "log --follow-first -q -r 6+3",
        "log -f -r 2",
        "log -q a",
        "log -q gone",
        "log -q --removed gone",
        "log -q dir",
        "log -q nosuch",
        "log -q -f dir/c",
        "log -q -f copied",
        "log -q -f nosuch",
        "log -q -I re:z",
        "log -q -X a",
        "log -q glob:di**",
        "log -r foo(0)",
        "log -r heds(0)",
        "log -r nosuch",
        "log -r foo(",
        "log -r 0)",
        "log -r bm",
        "log -r v1:stable",
        "log -r 1::4",
    ]);
}

#[test]
fn changes_are_shown() {
    let twin = Twin::writing(history);
    twin.each(|path| {
        repos::write(path, "empty", b"");
        varve_testkit::peers::hg().ok(path, &["add", "empty"]);
        repos::write(path, "a", b"1\n2\nx\n4\n5\n");
        repos::write(path, "z", b"newline\n");
    });
    twin.all_same(&[
        "log -p",
        "log -p --git -X binary",
        "log --stat",
        "log -p --stat -r 1",
        "log -p a",
        "log -p -r 2 -v",
        "log -g -r 1",
        "log --stat -q",
        "diff -c 0",
        "diff -c 1",
        "diff -c 1 --git --nodates -X binary",
        "diff -c 3",
        "diff -c 5 --git -X binary",
        "diff -c 5 --stat",
        "diff -c 5 -U 0",
        "diff -c 5 -U x",
        "diff -c 1 -a",
        "diff -r 0 -r 5",
        "diff -r 0:5 --git -X binary",
        "diff -r 5 -r 0",
        "diff --from 0 --to 3",
        "diff --from 0 -c 3",
        "diff --reverse -c 1",
        "diff -c 1 a",
        "diff -c 5 dir",
        "diff -r null -r 1",
        "diff -c nosuch",
        "diff --noprefix -c 1",
        "diff --debug -c 1",
        "diff --nodates",
        "diff --git",
        "diff --nodates -r 0",
        "diff --git -r 0 -X binary",
        "diff --stat",
        "diff -w --nodates",
    ]);
}

#[test]
fn hunks_are_cut_where_hg_cuts_them() {
    let mut state = 7_u64;
    let mut random = move |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut texts = Vec::new();
    for number in 0..24 {
        let different = [3, 8, 40, 200][number % 4];
        let lines = |random: &mut dyn FnMut(u64) -> u64| {
            let count = 5 + random(120);
            let lines = (0..count).map(|_| format!("{}  x\n", random(different)));
            lines.collect::<Vec<String>>()
        };
        let old = lines(&mut random);
        let mut new = old.clone();
        for _ in 0..1 + random(12) {
            let at = random(new.len() as u64) as usize;
            match random(3) {
                0 => drop(new.remove(at)),
                1 => new.insert(at, format!("{} x\n", random(different))),
                _ => new
                    .splice(at..at, lines(&mut random).into_iter().take(4))
                    .for_each(drop),
            }
            if new.is_empty() {
                new.push("last".to_owned());
            }
        }
        texts.push((format!("f{number:02}"), old.concat(), new.concat()));
    }
    let twin = Twin::writing_with(|hg, path| {
        hg.ok(path, &["init"]);
        for (name, old, _) in &texts {
            repos::write(path, name, old.as_bytes());
        }
        hg.ok(path, &["commit", "-A", "-m", "old"]);
        for (name, _, new) in &texts {
            repos::write(path, name, new.as_bytes());
        }
        hg.ok(path, &["commit", "-m", "new"]);
    });
    twin.all_same(&[
        "diff -c 1",
        "diff -c 1 -U 0",
        "diff -c 1 --stat",
        "diff -c 1 -b",
        "diff -c 1 -w",
        "diff -c 1 --reverse -U 1",
    ]);
}

#[test]
fn templates_are_filled() {
    let twin = Twin::writing(history);
    for template in [
        "{rev}:{node|short} {desc|firstline} {author|user} {author|person} {author|email}\\n",
        "{date|isodate} {date|hgdate} {date|shortdate} {date|rfc822date} {date}\\n",
        "{branch} {branches} {tags} {bookmarks} {parents}{p1rev} {p2rev} {p1node|short} {phase}\\n",
        "{files} {file_adds} {file_mods} {file_dels} {file_copies} {extras} {files % '{file},'}\\n",
        "{if(tags, 'T{tags}', 'none')} {ifeq(branch, 'default', 'd')} {join(files, ', ')}\\n",
        "{pad(rev, 5)}|{pad(rev, 5, '-', True)} {date(date, '%Y')} {parents % '{rev}:{node|short} '}\\n",
        "{desc|upper|json} {rev + 1} {count(files)} {word(0, desc)} {separate('-', branch, tags, rev)}\\n",
        "{get(extras, 'branch')} {startswith('s', desc)} {desc|tabindent}\\n",
        "{foo}\\n",
        "{rev|foo}",
        "{foo(rev)}",
        "{rev",
        "json",
    ] {
        twin.same(&["log", "-T", template]);
    }
    twin.same(&["log", "-v", "-T", "json"]);
    twin.same(&["tags", "-T", "{tag} {rev}\\n"]);
}

#[test]
fn what_templates_cannot_fill_is_refused() {
    let twin = Twin::reading();
    let ours = twin
        .run(&["log", "-r", "0", "-T", "{succsandmarkers}"])
        .ours;
    assert_eq!(ours.code, Some(10), "{ours}");
    assert!(
        ours.stderr.contains("'succsandmarkers' is not supported"),
        "{ours}"
    );
    // An unknown name is empty in both.
    twin.same(&["log", "-r", "0", "-T", "{nothing}{rev}\n"]);
}

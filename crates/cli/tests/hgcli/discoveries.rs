//! `debugdiscovery`.

use super::{Both, Twin};
use varve_testkit::peers::Outcome;

/// The lines without the time that was taken.
fn without_time(mut outcome: Outcome) -> Outcome {
    let lines = outcome.stdout.lines();
    let kept = lines
        .filter(|line| !line.starts_with("elapsed time:") && !line.contains(" total queries in "));
    outcome.stdout = kept.map(|line| format!("{}\n", in_order(line))).collect();
    outcome
}

/// The changesets that Mercurial lists in the order of a Python set, sorted.
fn in_order(line: &str) -> String {
    let prefix = "found new changesets starting at ";
    let Some(nodes) = line.strip_prefix(prefix) else {
        return line.to_owned();
    };
    let mut nodes: Vec<&str> = nodes.split(' ').collect();
    nodes.sort_unstable();
    [prefix, &nodes.join(" ")].concat()
}

#[track_caller]
fn same(twin: &Twin, words: &[&str]) {
    let mut both = twin.run(words);
    both.theirs = without_time(both.theirs);
    both.ours = without_time(both.ours);
    both.same(words);
}

#[test]
fn parts_of_a_repository_stand_for_both_sides() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        hg.ok(path, &["debugbuilddag", "-q", "+10:a <5+6:b <a+3/b <b+2"]);
        hg.ok(path, &["clone", "-q", "-U", "-r", "12", ".", "other"]);
    });
    let json = |mut outcome: Outcome| {
        let (before, after) = outcome.stdout.split_once("\"elapsed\":").unwrap();
        let (_, after) = after.split_once(',').unwrap();
        outcome.stdout = format!("{before}{after}");
        outcome
    };
    for line in [
        "--remote-as-revs 12",
        "--remote-as-revs null",
        "--remote-as-revs 12 --debug nosuch",
        "--remote-as-revs nosuch",
        "--local-as-revs null other",
        "--remote-as-revs 12+20 --local-as-revs 8+17 -v",
        "--remote-as-revs 12+20 --local-as-revs 8+17 --rev 7 -v",
        "--remote-as-revs 15+3 --local-as-revs 8+17+1 --rev 12",
        "--remote-as-revs 15+3 --local-as-revs 8+17+1 --old --rev nosuch --seed 7 --debug",
        "--remote-as-revs 12+20 --local-as-revs 8+17 --old --nonheads -v",
        "--remote-as-revs 12+20 --local-as-revs null --old -q",
        "--remote-as-revs 12 --old nosuch",
        "other --nonheads --seed 1",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        same(&twin, &[&["debugdiscovery"], &words[..]].concat());
    }
    for line in [
        "other",
        "other --rev 12 --debug",
        "-v --remote-as-revs 12+20",
        "other --local-as-revs 15 --old",
    ] {
        let mut words = vec!["debugdiscovery", "-T", "json"];
        words.extend(line.split(' '));
        let both = twin.run(&words);
        let both = Both {
            theirs: json(both.theirs),
            ours: json(both.ours),
        };
        both.same(&words);
    }
}

#[test]
fn comparisons_find_and_cost_the_same() {
    for (drawn, here, there) in [
        (
            "+2:f +1:a1:b1 <f +4 :a2 +5 :b2 <f +3 :b3",
            ["a1", "a2"],
            ["b2", "b3"],
        ),
        ("+2:f +3:a1 +3:b <f +30 :a2", ["a1", "a2"], ["b", "b"]),
        ("+2:f +30 :b <f +50 :a", ["a", "a"], ["b", "b"]),
        ("+4 :b +2 :a", ["a", "a"], ["b", "b"]),
        ("+4 :b", ["b", "b"], ["b", "b"]),
    ] {
        let twin = Twin::writing_with(|hg, path| {
            hg.ok(path, &["init", "drawn"]);
            hg.ok(&path.join("drawn"), &["debugbuilddag", drawn]);
            for (name, [first, second]) in [("here", here), ("there", there)] {
                hg.ok(
                    path,
                    &[
                        "clone", "-q", "-U", "-r", first, "-r", second, "drawn", name,
                    ],
                );
            }
        });
        for (from, to) in [("here", "there"), ("there", "here")] {
            same(&twin, &["-R", from, "debugdiscovery", to]);
            let old = "--old --debug --config progress.debug=1";
            let old: Vec<&str> = old.split(' ').collect();
            same(
                &twin,
                &[&["-R", from, "debugdiscovery", to], &old[..]].concat(),
            );
            same(
                &twin,
                &["-R", from, "debugdiscovery", to, "--verbose", "--debug"],
            );
            same(
                &twin,
                &[
                    "-R",
                    from,
                    "debugdiscovery",
                    to,
                    "-v",
                    "--debug",
                    "--rev",
                    "tip",
                    "--config=progress.debug=1",
                ],
            );
        }
    }
}

/// Samples that are not random are of the same changesets, so that every count is the same.
#[test]
fn samples_follow_the_settings_for_discovery() {
    let twin = Twin::writing_with(|hg, path| {
        hg.ok(path, &["init", "drawn"]);
        let drawn = "+60:f +260:a <f+9 +180:b <f*5/b+40:c";
        hg.ok(&path.join("drawn"), &["debugbuilddag", drawn]);
        hg.ok(path, &["clone", "-qUr", "a", "-r", "b", "drawn", "here"]);
        hg.ok(path, &["clone", "-qUr", "c", "drawn", "there"]);
    });
    let settings = [
        &["sample-size=30"][..],
        &[
            "sample-size=20",
            "grow-sample.rate=1.5",
            "exchange-heads=no",
        ],
        &["sample-size=9", "grow-sample=no", "grow-sample.dynamic=no"],
        &["sample-size.initial=7", "sample-size=40"],
    ];
    for settings in settings {
        let settings = settings.iter().chain(&["randomize=no"]);
        let settings = settings.map(|setting| format!("--config=devel.discovery.{setting}"));
        let settings: Vec<String> = settings.collect();
        for verbosity in ["--debug", "--verbose"] {
            for (from, to) in [("here", "there"), ("there", "here")] {
                let mut words = vec!["-R", from, "debugdiscovery", to, verbosity];
                words.extend(settings.iter().map(String::as_str));
                same(&twin, &words);
            }
        }
    }
}

#[test]
fn unrelated_and_empty_repositories_are_compared_by_segments_alike() {
    let twin = Twin::writing_with(|hg, path| {
        hg.ok(path, &["init", "some"]);
        // Merges of lines, so that requests for parents follow each other.
        let drawn = "+3:a +3:x <a +4:y @d /x +2:b <y+2 /b +1:c <x +2 :d /c +5:e";
        hg.ok(&path.join("some"), &["debugbuilddag", drawn]);
        hg.ok(path, &["init", "others"]);
        hg.ok(&path.join("others"), &["debugbuilddag", "-n", "+3"]);
        hg.ok(path, &["init", "empty"]);
    });
    for (from, to) in [
        ("some", "others"),
        ("others", "some"),
        ("some", "empty"),
        ("empty", "some"),
    ] {
        same(
            &twin,
            &["-R", from, "debugdiscovery", to, "--old", "--debug"],
        );
    }
    let both = twin.run(&["-R", "some", "debugdiscovery", "others", "--seed", "x"]);
    assert!(both.theirs.code != Some(0) && both.ours.code == Some(10));
    assert!(
        both.ours.stderr.contains("'x' is no integer"),
        "{}",
        both.ours.stderr
    );
}

/// They print first with what they compare.
#[test]
fn wrong_settings_are_refused_by_what_compares() {
    let twin = Twin::writing_with(|hg, path| {
        hg.ok(path, &["init", "here"]);
        hg.ok(&path.join("here"), &["debugbuilddag", "+1"]);
        hg.ok(path, &["clone", "-qU", "here", "there"]);
    });
    let wrong = "--config=devel.discovery.sample-size=x";
    for command in ["incoming", "outgoing", "pull", "push"] {
        twin.same(&["-R", "here", command, "there", wrong]);
    }
}

//! `log -G`.

use super::Twin;
use varve_testkit::repos;

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Branches, merges and roots, in the language of `debugbuilddag`.
fn dag(random: &mut Random, count: u64) -> String {
    let mut words = vec!["+1".to_owned()];
    for number in 1..count {
        words.push(match random.below(12) {
            0 => "$ +1".to_owned(),
            1..=5 => "+1".to_owned(),
            6..=8 => format!("<{} +1", 1 + random.below(number.min(10))),
            _ if number == 1 => "+1".to_owned(),
            _ => format!("/{}", 2 + random.below(number.min(11) - 1)),
        });
    }
    words.join(" ")
}

fn repository(dag: &str, at: &str) -> Twin {
    Twin::writing_with(|hg, path| {
        hg.ok(path, &["init"]);
        hg.ok(path, &["debugbuilddag", "-n", dag]);
        hg.ok(path, &["update", at]);
    })
}

#[test]
fn random_histories_are_drawn_as_hg_draws_them() {
    for seed in 0..2 {
        let mut random = Random(seed);
        let twin = repository(&dag(&mut random, 30), "5");
        let plain = repository(&dag(&mut random, 30), "0");
        for twin in [twin.with("HGPLAIN", ""), plain] {
            twin.same(&["log", "-G"]);
            twin.same(&["log", "-G", "nf7"]);
            twin.same(&["log", "-Gp", "-l", "5"]);
            for template in ["{rev}", "{rev} {graphwidth}\n2\n", "{rev}\n2\n3\n4\n"] {
                let some = (0..30).filter(|_| random.below(5) < 2);
                let some: Vec<String> = some.map(|rev| format!("r{rev}")).collect();
                let some = format!("desc('re:^({})$')", some.join("|"));
                twin.same(&["log", "-G", "-T", template]);
                twin.same(&["log", "-G", "-T", template, "-r", &some]);
            }
        }
    }
}

#[test]
fn many_lanes_cross() {
    let dag = "+1 :a +1 :b <a+1 :c <a+1 :d <a +1 :e <a +1 :f <f+1/e :g <g +1/d :h <h +1 /c :i \
               <i+1/b :j <j +1/a <a +3 /b *c <a+2/4";
    let twin = repository(dag, "null").with("HGPLAIN", "");
    twin.all_same(&[
        "log -G",
        "log -Gq",
        "log -Gv",
        "log -G --debug",
        "log -G --stat -l 4",
        "log -Gq -r 1+11+3+15+12",
        "log -Gq -r not(7:10)",
        "log -Gq -r null+0+4",
        "log -Gq -r 3:9 -l 3",
        "log -Gq -r 1+3+1",
        "log -Gq -P 7",
        "log -Gf -r 9 -l 4 -q",
        "log -Gq nf4 nf5 --removed",
        "log -G -l 0",
        "log -Gq --config experimental.graphshorten=1",
        "log -G --config experimental.graphshorten=x",
        "log -Gq --config experimental.graphstyle.parent=!",
        "log -Gq -r 3:5 --config experimental.graphstyle.missing=?",
        "log -Gq -r 0+4:12 --config experimental.graphstyle.grandparent=...",
        "log -Gq -l 5 --config command-templates.graphnode='<{rev}>'",
        "log -Gq -l 5 --config ui.graphnodetemplate={graphnode}{graphnode}",
        "log -Gq --config command-templates.graphnode={rev",
        "log -r 3:5 -T {graphnode}{graphwidth}{rev}",
    ]);
}

#[test]
fn symbols_tell_what_is_special() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        let commit = |text: &str, more: &[&str]| {
            repos::write(path, "a", text.as_bytes());
            let arguments = ["commit", "-A", "-m", text, "-d", "0 0"];
            hg.ok(path, &[&arguments[..], more].concat());
        };
        commit("one", &[]);
        commit("two", &[]);
        hg.ok(path, &["update", "0"]);
        hg.ok(path, &["branch", "side"]);
        commit("three", &[]);
        commit("four", &["--close-branch"]);
        hg.fails(path, &["graft", "1", "-t", ":fail"]);
    });
    twin.all_same(&["log -G", "log -r all() -T {graphnode}"]);
}

#[test]
fn json_has_no_picture() {
    let twin = repository("+2", "1");
    let ours = twin.run(&["log", "-G", "-T", "json"]).ours;
    assert_eq!(ours.code, Some(10), "{ours}");
    assert!(ours.stderr.contains("--graph"), "{ours}");
}

#[test]
fn pictures_keep_topological_order() {
    let drawn = "+2:b +1:c <b+1:d <b+1:e <c+1 <d+1 <e+1 <4+1 <5+1";
    let twin = repository(drawn, "8");
    for query in [
        "sort(all(), topo)",
        "sort(all(), topo, topo.firstbranch=8) - 3",
        "first(sort(all(), topo), 5)",
        "reverse(sort(all(), topo))",
        "sort(all(), topo) + 3",
        "all() and sort(all(), topo)",
    ] {
        twin.same(&["log", "-G", "-T", "{rev}\n", "-r", query]);
    }
}

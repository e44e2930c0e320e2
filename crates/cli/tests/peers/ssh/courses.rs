//! Clones, pulls and pushes that go well, and some that are refused.

use super::{Side, Talk, all_same, rich, write_rc};
use varve_testkit::repos;

#[test]
fn clones() {
    all_same(|talk| {
        rich(talk);
        talk.says("", "clone SRC all");
        talk.state("all");
        talk.says("", "clone -U -r 2 SRC part");
        talk.state("part");
        talk.says("", "identify SRC");
        talk.says("", "identify -r nowhere SRC");
    });
}

#[test]
fn clones_have_the_format_that_is_set() {
    all_same(|talk| {
        talk.stock("", "init --config format.sparse-revlog=no src");
        talk.commit("src", "a");
        talk.commit("src", "b");
        for setting in [
            "use-share-safe=no",
            "use-dirstate-tracked-hint=yes",
            "usegeneraldelta=no",
        ] {
            let setting = format!("format.{setting}");
            for (number, option) in ["--pull", "--stream"].into_iter().enumerate() {
                let name = format!("{setting}{number}");
                let words = [
                    "clone",
                    "-q",
                    "-U",
                    option,
                    "--config",
                    &setting,
                    &talk.url("src"),
                    &name,
                ];
                let outcome = talk.run("", &words);
                assert_eq!(outcome.code, Some(0), "{outcome}");
                talk.stock(&name, "verify -q");
                for file in ["requires", "store/requires"] {
                    let text = std::fs::read_to_string(talk.path(&name).join(".hg").join(file));
                    talk.note(&format!(
                        "{setting} {option} {file}: {text:?}",
                        text = text.ok()
                    ));
                }
            }
        }
    });
}

#[test]
fn streams() {
    all_same(|talk| {
        talk.stock("", "init src");
        talk.commit("src", "a");
        talk.commit("src", "b");
        talk.stock("src", "phase -p 0");
        talk.stock("src", "bookmark -r 0 old");
        let outcome = talk.run("", &["clone", "-q", "--stream", &talk.url("src"), "c"]);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        talk.state("c");
        write_rc(&talk.path("src"), "[server]\nuncompressed = no\n");
        talk.says("", "clone --stream SRC d");
        talk.state("d");
    });
}

#[test]
fn streams_with_drafts_and_markers() {
    all_same(|talk| {
        apart(talk);
        let evolution = "[experimental]\nevolution = all\n";
        write_rc(
            &talk.path("src"),
            &format!("{evolution}[phases]\npublish = no\n"),
        );
        talk.stock("src", "commit --amend -m other -d 2020-02-02");
        talk.stock("src", "tag -d 2020-02-03 tagged");
        for (name, options) in [
            ("d", "--config experimental.evolution=all"),
            ("without", ""),
            ("half", "--config experimental.evolution=createmarkers"),
        ] {
            let url = talk.url("src");
            let mut words = vec!["clone", "-U", "--stream", &url, name];
            words.extend(options.split(' ').filter(|word| !word.is_empty()));
            let mut outcome = talk.run("", &words);
            // How much came depends on caches.
            let lines = outcome.stdout.lines();
            let said = lines.filter(|line| !line.starts_with("stream-cloned "));
            outcome.stdout = said.collect();
            talk.note(&format!(
                "{} -- {:?}\n{}",
                outcome.stdout, outcome.code, outcome.stderr
            ));
        }
        write_rc(&talk.path("d"), evolution);
        talk.state("d");
        let cached = |name: &str| std::fs::read(talk.path(name)).unwrap();
        let same = cached("d/.hg/cache/rbc-revs-v2") == cached("src/.hg/cache/rbc-revs-v2");
        assert!(same, "the caches come along");
        for line in [
            "debugobsolete",
            "log --hidden -r all() -T {node}={phase}\\n",
            "tags",
            "branches",
        ] {
            let told = talk.stock("d", line);
            talk.note(&told);
            talk.says("d", line.strip_prefix("debug").map_or(line, |_| "tip"));
        }
        // One that publishes has nothing to tell of phases.
        write_rc(&talk.path("src"), evolution);
        let words = ["clone", "-q", "-U", "--stream", &talk.url("src"), "public"];
        let options = ["--config", "experimental.evolution=all"];
        talk.run("", &[&words[..], &options].concat()).success();
        let told = talk.stock("public", "log --hidden -r all() -T {node}={phase}\\n");
        talk.note(&told);
    });
}

#[test]
fn streams_that_show_what_is_secret() {
    all_same(|talk| {
        apart(talk);
        talk.stock("src", "phase -fs tip");
        // So that its caches are those of this state.
        talk.stock("src", "branches");
        write_rc(
            &talk.path("src"),
            "[server]\nuncompressedallowsecret = yes\n[phases]\npublish = no\n",
        );
        let url = talk.url("src");
        talk.run("", &["clone", "-q", "-U", "--stream", &url, "d"])
            .success();
        talk.state("d");
    });
}

#[test]
fn bookmarks_on_secret_changesets_cannot_be_cloned_there() {
    all_same(|talk| {
        talk.stock("", "init src");
        talk.commit("src", "one");
        talk.commit("src", "two");
        talk.stock("src", "phase -fs 1");
        talk.stock("src", "bookmark -r 0 open");
        talk.stock("src", "bookmark -r 1 shut");
        for name in ["d", "e"] {
            let url = talk.url(name);
            let verbose = if name == "e" { "-v" } else { "-y" };
            let told = talk.run("", &["clone", verbose, "src", &url]);
            let stderr = told.stderr.lines().filter(|line| line.starts_with("abort"));
            let stderr: String = stderr.collect();
            talk.note(&format!("{}-- {:?} {stderr}\n", told.stdout, told.code));
            talk.state(name);
        }
    });
}

#[test]
fn repositories_are_made_over_ssh() {
    all_same(|talk| {
        repos::make(&talk.hg, &talk.path("src"), repos::DEFAULT);
        talk.stock("src", "bookmark -f -r 2 two");
        talk.stock("src", "bookmark -f -r 0 zero");
        let there = |name: &str| talk.url(name);
        let urls = ["new", "new", "deep/er", "a b"].map(there);
        let [clone, again, part, branch, bare] =
            ["all", "all", "part", "branch", "bare"].map(there);
        let lines: [(&str, &[&str]); 13] = [
            ("", &["init", &urls[0]]),
            ("", &["init", &urls[1]]),
            ("", &["init", "-q", &urls[2]]),
            ("", &["init", "-v", &urls[3]]),
            ("", &["init", "--remotecmd", "/nowhere/hg", &urls[0]]),
            ("", &["init", "ssh://-oX/a"]),
            ("", &["clone", "src", &clone]),
            ("", &["clone", "src", &again]),
            ("src", &["clone", "-U", "-r", "1", ".", &part]),
            ("", &["clone", "-b", "nowhere", "src", &branch]),
            ("", &["clone", "-q", "-b", "default", "src", &branch]),
            ("", &["clone", "nowhere", &bare]),
            ("", &["clone", "new", &bare]),
        ];
        for (below, words) in lines {
            let outcome = talk.run(below, words);
            let text = format!(
                "{words:?}\n{}-- {:?}\n{}",
                outcome.stdout, outcome.code, outcome.stderr
            );
            talk.note(&text);
        }
        for name in ["new", "deep/er", "a b", "all", "part", "branch", "bare"] {
            talk.state(name);
        }
        let words = ["clone", &clone, "http://127.0.0.1:1/x"];
        let outcome = talk.run("", &words);
        talk.note(&outcome.stderr);
        let outcome = talk.run("", &["clone", &clone, &talk.url("again")]);
        talk.note(&outcome.stderr);
        talk.state("again");
    });
}

#[test]
fn clones_begin_with_a_bundle_made_before() {
    all_same(|talk| {
        rich(talk);
        let mut command = talk.command(Side::Varve, "src", &["clonebundle", "."]);
        assert!(command.output().unwrap().status.success());
        talk.commit("src", "later");
        write_rc(&talk.path("src"), "[extensions]\nclonebundles =\n");
        talk.says("", "clone SRC all");
        talk.state("all");
        talk.says("", "clone --config ui.clonebundles=no SRC without");
        talk.says("", "clone --stream -U SRC streamed");
        talk.state("streamed");
        let list = ".hg/clonebundles.manifest";
        repos::write(
            &talk.path("src"),
            list,
            b"peer-bundle-cache://none.hg BUNDLESPEC=zstd-v2\n",
        );
        talk.says("", "clone SRC gone");
    });
}

/// A clone with something new on both sides.
fn apart(talk: &Talk) {
    talk.stock("", "init src");
    talk.commit("src", "a");
    talk.commit("src", "b");
    talk.stock("src", "phase -p tip");
    talk.stock("src", "bookmark -r 0 shared");
    talk.stock("", "clone -q src c");
    talk.stock("src", "update -q -C 0");
    talk.commit("src", "there");
    talk.stock("src", "bookmark -r tip theirs");
    talk.stock("c", "branch -q side");
    talk.commit("c", "here");
    talk.stock("c", "bookmark -r tip ours");
}

#[test]
fn pulls_and_pushes() {
    all_same(|talk| {
        apart(talk);
        for line in [
            "incoming SRC",
            "outgoing SRC",
            "push SRC",
            "push --new-branch SRC",
            "push SRC",
            "push -B ours SRC",
            "pull SRC",
            "pull SRC",
            "pull -B nowhere SRC",
            "pull -r nowhere SRC",
            "incoming -B SRC",
            "outgoing -B SRC",
        ] {
            talk.says("c", line);
        }
        talk.state("c");
        talk.state("src");
    });
}

#[test]
fn drafts_that_stay_drafts_and_phases_that_move() {
    all_same(|talk| {
        apart(talk);
        write_rc(&talk.path("src"), "[phases]\npublish = no\n");
        talk.says("c", "push --new-branch SRC");
        talk.state("src");
        talk.stock("c", "phase -p tip");
        talk.says("c", "push SRC");
        talk.says("c", "pull SRC");
        talk.state("c");
        talk.state("src");
    });
}

#[test]
fn markers() {
    all_same(|talk| {
        apart(talk);
        let evolution = "[experimental]\nevolution = all\n[phases]\npublish = no\n";
        write_rc(&talk.path("src"), evolution);
        write_rc(&talk.path("c"), evolution);
        talk.says("c", "push -q --new-branch SRC");
        talk.stock("c", "commit --amend -m other -d 2020-02-02");
        talk.says("c", "push -f SRC");
        talk.state("src");
    });
}

#[test]
fn hooks() {
    const HOOKS: &str = "[hooks]\n\
        prechangegroup = echo said; env | grep -v TXNID | grep ^HG_ | grep -v PENDING | sort >&2\n\
        changegroup = env | grep -v TXNID | grep ^HG_ | sort\n\
        pushkey = echo key; env | grep -v TXNID | grep ^HG_ | sort\n";
    all_same(|talk| {
        apart(talk);
        write_rc(&talk.path("src"), HOOKS);
        talk.says("c", "push --new-branch SRC");
        talk.says("c", "push -B ours SRC");
        for refusing in [
            "pretxnopen",
            "prechangegroup",
            "pretxnchangegroup",
            "pretxnclose",
        ] {
            talk.commit("c", refusing);
            let rc = format!("[hooks]\n{refusing}.no = echo no; exit 3\n");
            write_rc(&talk.path("src"), &rc);
            talk.says("c", "push SRC");
        }
        write_rc(&talk.path("src"), "[hooks]\nprepushkey = exit 1\n");
        talk.says("c", "push -B ours SRC");
        write_rc(
            &talk.path("src"),
            "[web]\nallow-pull = no\ndeny_push = *\ndeny_read = *\n",
        );
        talk.says("c", "push SRC");
        talk.state("src");
    });
}

#[test]
fn old_clients_are_refused_where_the_server_says_so() {
    let said = [Side::Hg, Side::Varve].map(|server| {
        let mut talk = Talk::new((Side::Hg, server));
        talk.stock("", "init src");
        talk.commit("src", "a");
        talk.stock("", "clone -q src c");
        talk.commit("c", "b");
        for lines in [
            "bundle1 = no",
            "bundle1.push = no",
            "bundle1gd.push = no",
            "bundle1gd = no\nbundle1gd.push = yes",
        ] {
            write_rc(&talk.path("src"), &format!("[server]\n{lines}\n"));
            talk.says("c", "push --config devel.legacy.exchange=bundle1 SRC");
        }
        talk.state("src");
        talk.said
    });
    assert_eq!(said[0], said[1]);
    assert_eq!(
        said[0].matches("bundle2 required").count(),
        3,
        "{}",
        said[0]
    );
}

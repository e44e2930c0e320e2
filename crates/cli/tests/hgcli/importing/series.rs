//! Exported changesets that come back, one after the other.

use super::{Twin, make};
use std::path::Path;
use varve_testkit::{peers, repos};

/// Beside [`make`] a changeset on it, one of another branch on that, another head, and their merge.
fn source(hg: &peers::Hg, path: &Path) {
    make(hg, path);
    repos::write(path, "f2", b"2\n");
    repos::commit(hg, path, "two");
    hg.ok(path, &["branch", "br"]);
    repos::write(path, "f2", b"2\n3\n");
    repos::commit(hg, path, "three\n\nwith more words");
    hg.ok(path, &["up", "0"]);
    repos::write(path, "f4", b"4\n");
    repos::write(path, "bin", b"other\0\x02");
    // On the first side: the merge could not be made again from a patch with a rename of the other.
    hg.ok(path, &["mv", "g", "gg"]);
    repos::commit(hg, path, "four");
    hg.ok(path, &["merge", "2"]);
    repos::commit(hg, path, "merge");
}

/// A twin with the first changeset, and the patches of the others beside it.
fn twin() -> Twin {
    Twin::writing(|hg, path| {
        let beside = path.parent().unwrap();
        let from = beside.join("source");
        source(hg, &from);
        for rev in ["1", "2", "3", "4"] {
            let out = format!("../repository-{rev}.patch");
            hg.ok(&from, &["export", "--git", "-r", rev, "-o", &out]);
        }
        hg.ok(
            &from,
            &["export", "--git", "-r", "1:", "-o", "../all.patch"],
        );
        std::fs::remove_dir(path).ok();
        hg.ok(beside, &["clone", "-q", "-r", "0", "source", "repository"]);
        for name in [
            "all",
            "repository-1",
            "repository-2",
            "repository-3",
            "repository-4",
        ] {
            let file = format!("{name}.patch");
            std::fs::rename(beside.join(&file), path.join(".hg").join(&file)).unwrap();
        }
    })
}

#[test]
fn exact_imports_make_the_same_changesets() {
    for words in [
        "import --exact .hg/all.patch",
        "import --exact -v .hg/all.patch",
        "import --exact --bypass .hg/all.patch",
        "import --exact .hg/repository-1.patch .hg/repository-2.patch .hg/repository-3.patch .hg/repository-4.patch",
        "import --exact .hg/repository-2.patch",
        "import --exact --no-commit .hg/repository-1.patch",
        "import .hg/all.patch",
        "import --import-branch .hg/all.patch",
        "import --bypass .hg/all.patch",
        "import .hg/repository-1.patch .hg/repository-2.patch",
        "import --bypass .hg/repository-1.patch .hg/repository-2.patch",
        "import --bypass --import-branch .hg/repository-1.patch .hg/repository-2.patch",
    ] {
        let twin = twin();
        twin.all_same(&["bookmark here", words]);
        twin.same_results();
        twin.all_same(&["verify -q", "rollback", "id"]);
    }
}

#[test]
fn other_changesets_than_the_exported_ones_are_refused() {
    let twin = twin();
    twin.each(|root| {
        let path = root.join(".hg/repository-1.patch");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("+2", "+two")).unwrap();
    });
    twin.all_same(&[
        "import --exact .hg/repository-1.patch",
        "import --exact --bypass .hg/repository-1.patch",
    ]);
    twin.same_results();
}

#[test]
fn hooks_are_called_as_for_commits() {
    let line = |kind: &str| {
        format!(
            "--config=hooks.{kind}.t=echo {kind} $HG_NODE $HG_PARENT1 $HG_PARENT2 $HG_TXNNAME >> ../log"
        )
    };
    let kinds = [
        "precommit",
        "commit",
        "pretxnopen",
        "pretxncommit",
        "pretxnclose",
        "txnclose",
        "preupdate",
        "update",
    ];
    let hooks: Vec<String> = kinds.iter().map(|kind| line(kind)).collect();
    for words in [&["--exact"][..], &["--bypass", "--exact"]] {
        let twin = twin();
        let mut arguments = vec!["import", ".hg/all.patch"];
        arguments.extend(words);
        arguments.extend(hooks.iter().map(String::as_str));
        twin.same(&arguments);
        let called = |root: &Path| {
            let text = std::fs::read_to_string(root.parent().unwrap().join("log")).unwrap();
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            // Changesets are offered to hooks when all are there.
            lines.sort_unstable();
            lines
        };
        assert_eq!(called(twin.theirs()), called(twin.ours()));
        let refusing = [
            "import",
            ".hg/all.patch",
            "--config=hooks.precommit.t=false",
        ];
        twin.same(&refusing);
    }
}

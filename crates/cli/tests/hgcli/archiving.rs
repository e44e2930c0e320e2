//! `archive`: the same files, byte for byte.

use super::Twin;
use super::importing::files;
use std::path::Path;
use varve_testkit::{peers, repos};

fn make(hg: &peers::Hg, path: &Path) {
    std::fs::create_dir_all(path).unwrap();
    hg.ok(path, &["init"]);
    repos::write(path, "a", b"a\n");
    repos::write(path, "d/e/b", b"b\n");
    repos::write(path, "bin", b"\0bin");
    repos::write(path, "empty", b"");
    repos::write(path, "exe", b"x\n");
    repos::write(path, "é name", "é\n".as_bytes());
    let long = "x".repeat(120);
    repos::write(path, &format!("{long}/{long}"), &b"long\n".repeat(9000));
    std::os::unix::fs::symlink("a", path.join("link")).unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path.join("exe"), executable).unwrap();
    repos::commit(hg, path, "one");
    hg.ok(path, &["tag", "v1"]);
    repos::write(path, "a", b"a\nb\n");
    repos::commit(hg, path, "two");
}

/// The contents beside both copies.
#[track_caller]
fn same_beside(twin: &Twin) {
    let beside = |root: &Path| {
        let mut found = files(root.parent().unwrap());
        found.retain(|name, _| !name.starts_with("repository/"));
        found
    };
    let (theirs, ours) = (beside(twin.theirs()), beside(twin.ours()));
    let names = |found: &std::collections::BTreeMap<String, _>| -> Vec<String> {
        found.keys().cloned().collect()
    };
    assert_eq!(names(&theirs), names(&ours));
    for (name, content) in &theirs {
        assert!(ours[name] == *content, "{name} differs");
    }
}

#[test]
fn archives_have_the_same_bytes() {
    let twin = Twin::writing(make);
    for kind in ["tar", "tbz2", "tgz", "uzip", "zip"] {
        twin.same(&["archive", "-t", kind, &format!("../o.{kind}")]);
    }
    for name in [
        "a.tar",
        "a.tar.gz",
        "a.TGZ",
        "a.tgz",
        "a.tar.bz2",
        "a.tbz2",
        "a.zip",
    ] {
        twin.same(&["archive", "-r", "0", &format!("../{name}")]);
    }
    twin.all_same(&[
        "archive ../p.tar -p pre/%h-%b-%H-%R -r 0",
        "archive ../%b-%h.tar",
        "archive -X a -X d ../i.tar",
        "archive -I nope ../i2.tar",
        "archive -I d ../i3.zip",
        "archive --config ui.archivemeta=no ../nm.tar",
        "archive -p . ../nd.tar",
        "archive -p ./x//y/../z ../nx.tar",
        "archive -S ../subs.tar",
        "archive -v ../v.tar -r 1",
    ]);
    same_beside(&twin);
}

#[test]
fn directories_have_the_same_files() {
    let twin = Twin::writing(make);
    twin.all_same(&[
        "archive ../files",
        "archive ../files -r 0",
        "archive ../files",
        "archive -t files ../a.zip -X d",
        "archive ../%h-r%r",
    ]);
    same_beside(&twin);
    let time = |root: &Path| {
        let file = root.parent().unwrap().join("files/a");
        file.metadata().unwrap().modified().unwrap()
    };
    assert_eq!(time(twin.theirs()), time(twin.ours()));
}

#[test]
fn senseless_calls_are_refused() {
    let twin = Twin::writing(make);
    twin.all_same(&[
        "archive -p foo ../files",
        "archive -t foo ../x",
        "archive -r nope ../x",
        "archive -r null ../x",
        "archive -p /abs ../x.tar",
        "archive -p ../up ../x.tar",
        "archive .",
        "archive ../repository",
        "archive -",
        "archive ../nope/x.tar",
        "archive ../%z.tar",
    ]);
    same_beside(&twin);
    for call in [
        &["archive", "-t", "txz", "../x"][..],
        &["archive", "../x.tar.xz"],
    ] {
        let ours = twin.run(call).ours;
        assert_eq!(
            ours.stderr,
            "abort: archives of the type txz are not supported\n"
        );
    }
}

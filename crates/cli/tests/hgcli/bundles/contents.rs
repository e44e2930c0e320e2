//! Contents of bundle files.

use super::{files, history};
use crate::hgcli::Twin;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{self, noise};

/// State of a repository that must come through a bundle.
fn state(hg: &Hg, path: &Path, spec: &str) -> String {
    let phases = spec.contains("v3") || spec.contains("phases");
    let phase = if phases { "{phase}" } else { "" };
    let template =
        format!("{{rev}} {{node}} {{user}} {{date}} {{extras}} {{tags}} {{desc}} {phase}\n");
    let mut said = hg.ok(path, &["log", "-G", "-p", "-T", &template]);
    if spec.contains("obsolescence") {
        said += &hg.ok(path, &["debugobsolete"]);
    }
    assert!(said.lines().count() > 60);
    said
}

/// Lets the real program put a bundle into a new repository.
fn read_back(hg: &Hg, bundle: &Path) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    hg.ok(directory.path(), &["init"]);
    let rc = "[experimental]\nevolution = all\n";
    std::fs::write(directory.path().join(".hg/hgrc"), rc).unwrap();
    hg.ok(
        directory.path(),
        &["unbundle", "-q", bundle.to_str().unwrap()],
    );
    let verified = hg.run(directory.path(), &["verify"]);
    assert_eq!((verified.code, verified.stderr.as_str()), (Some(0), ""));
    directory
}

const SPECS: &[&str] = &[
    "none-v1",
    "gzip-v1",
    "bzip2-v1",
    "v2",
    "gzip-v2",
    "zstd-v2",
    "zstd-v2;compressionlevel=12;compressionthreads=2",
    "none-v3",
    "zstd-v3;obsolescence=yes",
    "none-v2;obsolescence=yes;obsolescence-mandatory=no;phases=yes",
];

#[test]
fn the_real_program_reads_every_kind() {
    let (twin, hg) = (Twin::writing(history), hg());
    // Numbers of changesets follow from those that go along.
    let source = read_back(&hg, &{
        hg.ok(
            twin.theirs(),
            &[
                "bundle",
                "-q",
                "-a",
                "-t",
                "none-v3;obsolescence=yes",
                "all.hg",
            ],
        );
        twin.theirs().join("all.hg")
    });
    for spec in SPECS {
        twin.same(&["bundle", "-a", "-q", "-t", spec, "x.hg"]);
        let back = read_back(&hg, &twin.ours().join("x.hg"));
        assert_eq!(
            state(&hg, source.path(), spec),
            state(&hg, back.path(), spec),
            "{spec}"
        );
        let told = |root: &Path| hg.ok(root, &["debugbundle", "--spec", "x.hg"]);
        assert_eq!(told(twin.theirs()), told(twin.ours()));
    }
}

#[test]
fn bundles_without_compression_have_the_same_bytes() {
    let twin = Twin::writing(history);
    for options in [
        "-a -t none-v2",
        "-a -t none-v3",
        "-a -t none-v2;obsolescence=yes;phases=yes",
        "-a -t none-v2;changegroup=no",
        "-a -t none-v3;tagsfnodescache=no;revbranchcache=no",
        "-a -t v1;cg.version=02 --hidden -t none-v2",
        "--base 2 -t none-v3",
        "--base 7 -r 6 -r 10 -t none-v2",
        "--exact -r 8 -t none-v3",
    ] {
        let line = format!("bundle -q {options} x.hg");
        twin.all_same(&[&line]);
        let [theirs, ours] = files(&twin, "x.hg");
        assert!(theirs == ours, "{options}");
    }
}

/// The real program writes a file of this name instead.
#[test]
fn bundles_of_empty_files_and_small_changesets_have_the_same_bytes() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        for name in ["a", "b", "c"] {
            repos::write(path, name, b"");
            repos::commit(hg, path, name);
        }
    });
    for spec in ["none-v1", "none-v2"] {
        twin.same(&[
            "bundle", "-q", "--base", "0", "-r", "tip", "-t", spec, "x.hg",
        ]);
        let [theirs, ours] = files(&twin, "x.hg");
        assert!(theirs == ours, "{spec}");
    }
}

#[test]
fn a_bundle_goes_to_the_standard_output() {
    let twin = Twin::writing(history);
    let mut command = Command::new(crate::hgcli::our_hg());
    command
        .args(["bundle", "-a", "-t", "none-v3", "-", "-R"])
        .arg(twin.ours());
    let output = command.env("HGRCPATH", "").output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "10 changesets found\n"
    );
    hg().ok(
        twin.theirs(),
        &["bundle", "-q", "-a", "-t", "none-v3", "x.hg"],
    );
    assert!(output.stdout == std::fs::read(twin.theirs().join("x.hg")).unwrap());
}

#[test]
fn the_same_changesets_make_the_same_bytes() {
    let twin = Twin::writing(|hg, path| repos::make(hg, path, repos::DEFAULT));
    for (spec, other) in [
        ("zstd-v2", "zstd-v2;compressionthreads=7"),
        (
            "zstd-v2;compressionlevel=11",
            "zstd-v2;compressionlevel=11;compressionthreads=1",
        ),
        ("gzip-v2", "gzip-v2;compressionlevel=6"),
        ("bzip2-v1", "bzip2-v1;compressionlevel=9"),
    ] {
        let made = [spec, spec, other].map(|spec| {
            twin.run(&["bundle", "-a", "-t", spec, "x.hg"])
                .ours
                .success();
            std::fs::read(twin.ours().join("x.hg")).unwrap()
        });
        assert!(made[0] == made[1] && made[1] == made[2], "{spec}");
    }
}

#[test]
fn a_bundle_is_there_when_it_is_complete() {
    let twin = Twin::writing(history);
    let ours = twin.ours();
    let bundle = |name: &str| twin.run(&["bundle", "-a", "-t", "none-v2", name]).ours;
    // Its access stays, and a link leads to it as before.
    repos::write(ours, "old", b"old");
    let secret = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(ours.join("old"), secret).unwrap();
    std::os::unix::fs::symlink("old", ours.join("link")).unwrap();
    bundle("link").success();
    assert!(
        std::fs::symlink_metadata(ours.join("link"))
            .unwrap()
            .is_symlink()
    );
    let metadata = std::fs::metadata(ours.join("old")).unwrap();
    assert_eq!(
        std::os::unix::fs::MetadataExt::mode(&metadata) & 0o777,
        0o600
    );
    assert!(metadata.len() > 150_000);
    bundle("/dev/null").success();
    // A damaged repository leaves no file behind.
    let data = ours.join(".hg/store/data/big.d");
    std::fs::write(&data, noise(10, 1)).unwrap();
    assert_eq!(bundle("new").code, Some(50));
    let entries = std::fs::read_dir(ours).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    assert_eq!(names, [".hg", "link", "old"]);
    assert!(
        std::fs::read(ours.join("old"))
            .unwrap()
            .starts_with(b"HG20")
    );
}

/// How long an interrupted bundle may take to appear, and to end.
const DEADLINE: Duration = Duration::from_secs(120);

/// Names in a directory that begin with that of the bundle.
fn bundle_names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("old.hg")).collect()
}

/// Interrupts a bundle as soon as its temporary file is there; `None` if it was too fast.
fn interrupt_bundle(directory: &Path, until: Instant) -> Option<Output> {
    let mut command = Command::new(crate::hgcli::our_hg());
    command
        .args(["bundle", "-a", "-t", "bzip2", "old.hg"])
        .current_dir(directory)
        .env("HGRCPATH", "")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut is_sent, mut ended) = (false, None);
    while ended.is_none() {
        if !is_sent && bundle_names(directory).len() == 2 {
            let id = child.id().to_string();
            let sent = Command::new("kill").args(["-INT", &id]).status();
            // Not yet waited for, so that the number is still the child's.
            is_sent = sent.unwrap().success();
        }
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("bundle does not end; signal sent: {is_sent}");
        }
        std::thread::sleep(Duration::from_millis(1));
        ended = child.try_wait().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code() != Some(0)).then_some(output)
}

#[test]
fn an_interrupted_bundle_leaves_nothing() {
    let twin = Twin::writing(|hg, path| {
        std::fs::create_dir_all(path).unwrap();
        hg.ok(path, &["init"]);
        // bzip2 needs seconds for this much.
        repos::write(path, "big", &noise(24 << 20, 5));
        repos::commit(hg, path, "big");
    });
    let until = Instant::now() + DEADLINE;
    let output = loop {
        repos::write(twin.ours(), "old.hg", b"old");
        // A signal that comes behind the last look at it changes nothing; then another one is sent.
        if let Some(output) = interrupt_bundle(twin.ours(), until) {
            break output;
        }
    };
    assert_eq!(String::from_utf8_lossy(&output.stderr), "interrupted!\n");
    assert_eq!(output.status.code(), Some(255));
    assert_eq!(bundle_names(twin.ours()), ["old.hg"]);
    assert_eq!(std::fs::read(twin.ours().join("old.hg")).unwrap(), b"old");
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let twin = Twin::writing(history);
    let mut command = Command::new(crate::hgcli::our_hg());
    command
        .args(["bundle", "-q", "-a", "-t", "none-v2", "-", "-R"])
        .arg(twin.ours());
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .stdin(Stdio::piped());
    let mut child = command.env("HGRCPATH", "").spawn().unwrap();
    drop(child.stdout.take());
    let _ = child.stdin.take().map(|mut stdin| stdin.write(b""));
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn the_files_of_the_store_go_into_a_bundle_as_they_are() {
    let twin = Twin::writing(history);
    twin.all_same(&[
        "bundle -a -t streamv2 x.hg --debug",
        "debugcreatestreamclonebundle p.hg",
        "phase -f -d 8",
        "bundle -a -t none-streamv2 x.hg",
        "bundle -a -t none-v2;stream=v3 x.hg",
        "bundle -a -t none-streamv3-exp x.hg",
        "bundle -a -t none-v1;stream=v2 x.hg --config server.uncompressed=no",
        "bundle --base 2 -r 1 -t none-streamv2 x.hg",
        "debugcreatestreamclonebundle p.hg --debug",
        "debugcreatestreamclonebundle no/p.hg",
        "debugcreatestreamclonebundle q.hg -q",
    ]);
    let [theirs, ours] = files(&twin, "p.hg");
    assert!(theirs == ours);
    for options in [
        "-a -t none-streamv2;obsolescence=yes",
        "-a --debug -t zstd-v2;stream=v2;requirements=generaldelta;obsolescence=yes",
        "-a -t none-streamv2;obsolescence=yes --config phases.publish=no",
    ] {
        twin.each(|root| {
            // Each program keeps caches of its own choice.
            std::fs::remove_dir_all(root.join(".hg/cache")).unwrap();
            repos::write(root, ".hg/cache/tags2-visible", b"some\n");
        });
        twin.all_same(&[&format!("bundle {options} x.hg")]);
        let [theirs, ours] = files(&twin, "x.hg");
        assert!(theirs == ours, "{options}");
    }
    let hg = hg().with_config(&["experimental.evolution=all"]);
    let told = |root: &Path| {
        hg.ok(
            root,
            &["log", "-G", "-p", "-T", "{rev} {node} {phase} {desc}\n"],
        )
    };
    for (command, bundle) in [
        ("unbundle", "x.hg"),
        ("debugapplystreamclonebundle", "p.hg"),
    ] {
        let empty = tempfile::tempdir().unwrap();
        hg.ok(empty.path(), &["init"]);
        hg.ok(
            empty.path(),
            &[command, twin.ours().join(bundle).to_str().unwrap()],
        );
        let verified = hg.run(empty.path(), &["verify"]);
        assert_eq!((verified.code, verified.stderr.as_str()), (Some(0), ""));
        if command == "unbundle" {
            assert_eq!(told(twin.ours()), told(empty.path()));
        }
    }
}

//! Changesets that are removed: nothing else goes with them, as `hg strip` has it, and every cut
//! is undone.

use crate::crash::{self, read_everything};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use varve_base::{DiskStorage, Interrupt, Storage};
use varve_codec::EngineSetting;
use varve_repo::{
    FileChange, FileKind, LockKind, NewChangeset, Node, Phase, RepoError, Repository, ViewFilter,
};
use varve_testkit::peers::{Hg, hg};
use varve_testkit::{Recorder, repos};

fn strip(repository: &Repository, nodes: &[Node]) -> Result<usize, RepoError> {
    let lock = repository.try_lock(LockKind::Store).unwrap();
    repository.strip(lock, nodes, EngineSetting::ZSTD, &Interrupt::default())
}

/// The repository after a strip, in the words of the real program.
fn described(hg: &Hg, path: &Path) -> String {
    let names = std::fs::read_to_string(path.join(".hg/store/fncache")).unwrap();
    let mut names: Vec<_> = names.lines().collect();
    names.sort_unstable();
    let verified = hg.run(path, &["verify", "-q"]);
    let mut all = format!("{}{}{}", names.join("\n"), verified.stdout, verified.stderr);
    for arguments in [
        &["log", "--debug"][..],
        &["bookmarks"],
        &["manifest", "--all"],
        &["log", "-p", "-r", "tip"],
    ] {
        all.push_str(&hg.ok(path, arguments));
    }
    all
}

#[test]
fn the_same_is_left_as_by_hg() {
    let hg = hg();
    for (at, variant) in repos::VARIANTS.iter().enumerate() {
        let directory = tempfile::tempdir().unwrap();
        let original = directory.path().join("original");
        repos::make(&hg, &original, *variant);
        hg.ok(&original, &["phase", "--force", "--draft", "0:"]);
        hg.ok(&original, &["phase", "--force", "--secret", "tip"]);
        hg.ok(&original, &["update", "null"]);
        let count = hg.ok(&original, &["log", "-T", "x"]).len();
        let [theirs, ours] = ["theirs", "ours"].map(|name| directory.path().join(name));
        for copy in [&theirs, &ours] {
            let copied = Command::new("cp")
                .arg("-a")
                .args([&original, copy])
                .status();
            assert!(copied.unwrap().success());
        }
        let rev = (count * (at + 1) / (repos::VARIANTS.len() + 1)).to_string();
        let strip_it = [
            "--config=extensions.strip=",
            "strip",
            "--no-backup",
            "-r",
            &rev,
        ];
        hg.ok(&theirs, &strip_it);
        let node = hg.ok(&ours, &["log", "-r", &rev, "-T", "{node}"]);
        let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new(directory.path()));
        let repository = Repository::open(storage, Path::new("ours")).unwrap();
        strip(&repository, &[Node::from_hex(node.as_bytes()).unwrap()]).unwrap();
        let (theirs, ours) = (described(&hg, &theirs), described(&hg, &ours));
        assert!(
            theirs == ours,
            "{} {rev}\n{theirs}--- ours\n{ours}",
            variant.name
        );
    }
}

fn commit(repository: &Repository, parent: Node, message: &str, files: &[(&str, &[u8])]) -> Node {
    let mut batch = repository.begin(EngineSetting::ZSTD).unwrap();
    let changes: Vec<_> = files
        .iter()
        .map(|(path, content)| FileChange::Write {
            path: path.as_bytes(),
            content,
            kind: FileKind::Plain,
            copied_from: None,
        })
        .collect();
    let new = NewChangeset {
        parents: [parent, Node::NULL],
        user: b"strip",
        date: (0, 0),
        branch: b"default",
        extras: &[],
        description: message.as_bytes(),
        phase: Phase::Draft,
        changes: &changes,
    };
    batch.commit(&new).unwrap();
    batch.finish().unwrap()
}

/// Two branches whose changesets come in turns; the removed one split a revlog, and stored a revision
/// first that another one has too. Returns the removed one.
fn branches(repository: &Repository) -> Node {
    let noise = repos::noise(140_000, 5);
    let root = commit(repository, Node::NULL, "root", &[("same", b"0\n")]);
    let gone = [
        ("same", &noise[..]),
        ("shared", b"1\n"),
        ("only here", b"2\n"),
    ];
    let gone = commit(repository, root, "goes", &gone);
    let stays = commit(
        repository,
        root,
        "stays",
        &[("same", b"3\n"), ("shared", b"1\n")],
    );
    commit(repository, gone, "goes too", &[("same", b"4\n")]);
    commit(
        repository,
        stays,
        "above",
        &[("same", b"5\n"), ("big", &noise)],
    );
    gone
}

#[test]
fn every_cut_of_a_strip_is_undone_or_done() {
    let recorder = Recorder::default();
    let storage: Arc<dyn Storage> = Arc::new(recorder.clone());
    let repository = Repository::create(storage, Path::new("")).unwrap();
    let gone = branches(&repository);
    recorder.acknowledge();
    assert_eq!(strip(&repository, &[gone]).unwrap(), 2);
    recorder.acknowledge();
    let (mut images, mut undone, mut whole) = (0, 0, 0);
    recorder.for_each_image(16, |image| {
        if image.acknowledged == 0 {
            return;
        }
        images += 1;
        let there = image.storage.kind(Path::new(".hg/store/journal")).unwrap();
        undone += usize::from(there.is_some());
        let repository = crash::recovered(&image.storage).unwrap();
        let view = repository.view_for(ViewFilter::Unfiltered).unwrap();
        let has_gone = view.changelog().rev(&gone).is_some();
        let found = read_everything(image.storage.clone());
        assert_eq!(found, if has_gone { 5 } else { 3 }, "{}", image.cut);
        assert!(!has_gone || image.acknowledged < 2, "{}", image.cut);
        whole += usize::from(!has_gone);
        let tip = view.changelog().node_or_null(view.tip());
        commit(
            &repository,
            tip,
            "after",
            &[("same", b"6\n"), ("only here", b"7\n")],
        );
        assert_eq!(
            read_everything(image.storage.clone()),
            found + 1,
            "{}",
            image.cut
        );
    });
    assert!(
        images > 200 && undone > 100 && whole > 20,
        "{undone} {whole} of {images}"
    );
}

#[test]
fn hg_undoes_or_verifies_what_a_cut_left() {
    let recorder = Recorder::default();
    let storage: Arc<dyn Storage> = Arc::new(recorder.clone());
    let repository = Repository::create(storage, Path::new("")).unwrap();
    let gone = branches(&repository);
    recorder.acknowledge();
    strip(&repository, &[gone]).unwrap();
    let (hg, mut at, mut undone) = (hg(), 0, 0);
    recorder.for_each_image(8, |image| {
        at += usize::from(image.acknowledged > 0);
        if image.acknowledged == 0 || at % 23 != 0 {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        crash::write_out(&image.storage, directory.path());
        if directory.path().join(".hg/store/journal").exists() {
            undone += 1;
            hg.ok(directory.path(), &["recover"]);
        }
        let said = hg.run(directory.path(), &["verify"]);
        assert!(said.code == Some(0), "{}: {said}", image.cut);
        let count = hg.ok(directory.path(), &["log", "-T", "x"]).len();
        assert!(count == 5 || count == 3, "{count}: {}", image.cut);
    });
    assert!(undone > 4, "only {undone} images had a journal");
}

#[test]
fn what_the_working_directory_is_at_stays() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("r");
    repos::make(&hg(), &path, repos::DEFAULT);
    let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new(directory.path()));
    let repository = Repository::open(storage, Path::new("r")).unwrap();
    let first = repository
        .view()
        .unwrap()
        .changelog()
        .node(varve_repo::Rev(0));
    let before = hg().ok(&path, &["log", "--debug"]);
    hg().ok(&path, &["update", "-q", "tip"]);
    let refused = strip(&repository, &[first]).unwrap_err();
    assert!(matches!(refused, RepoError::Strip { .. }), "{refused}");
    let missing = strip(&repository, &[Node([7; 20])]).unwrap_err();
    assert!(
        matches!(missing, RepoError::MissingNode { .. }),
        "{missing}"
    );
    assert_eq!(hg().ok(&path, &["log", "--debug"]), before);
    assert_eq!(strip(&repository, &[]).unwrap(), 0);
}

//! Revisions from elsewhere: every state that a power cut could leave shows all of them or none.

use crate::crash::{read_everything, recovered};
use std::path::Path;
use std::sync::Arc;
use varve_base::{OpenMode, Storage};
use varve_codec::EngineSetting;
use varve_repo::hooks::ExchangeOrigin;
use varve_repo::{
    FileChange, FileKind, LockKind, NewChangeset, NewRevision, Node, Phase, Receiver, Repository,
    Revlog,
};
use varve_testkit::{Recorder, repos};

fn memory(recorder: &Recorder) -> Arc<dyn Storage> {
    Arc::new(recorder.clone())
}

/// Adds a changeset with two files, of which one grows from changeset to changeset.
fn commit(repository: &Repository, round: u8, len: usize) {
    let content = repos::noise(len, round.into());
    let name = format!("only in {round}");
    commit_files(
        repository,
        &[("same", &content[..]), (&name[..], &content[..])],
    );
}

fn commit_files(repository: &Repository, files: &[(&str, &[u8])]) {
    let view = repository.view().unwrap();
    let write =
        |(path, content): &(&'_ str, &'_ [u8])| (path.as_bytes().to_vec(), content.to_vec());
    let files: Vec<(Vec<u8>, Vec<u8>)> = files.iter().map(write).collect();
    let changes: Vec<FileChange<'_>> = files
        .iter()
        .map(|(path, content)| FileChange::Write {
            path,
            content,
            kind: FileKind::Plain,
            copied_from: None,
        })
        .collect();
    let mut batch = repository.begin(EngineSetting::ZSTD).unwrap();
    let new = NewChangeset {
        parents: [view.changelog().node_or_null(view.tip()), Node::NULL],
        user: b"crash",
        date: (0, 0),
        branch: b"default",
        extras: &[],
        description: files[files.len() - 1].0.as_slice(),
        phase: Phase::Draft,
        changes: &changes,
    };
    batch.commit(&new).unwrap();
    batch.finish().unwrap();
}

/// A receiver that expects drafts.
fn receiver(target: &Repository) -> Receiver {
    let lock = target.try_lock(LockKind::Store).unwrap();
    let mut receiver = target
        .receive(lock, EngineSetting::ZSTD, "unbundle")
        .unwrap();
    let origin = ExchangeOrigin {
        source: "unbundle",
        url: b"bundle:x".to_vec(),
        in_bundle2: true,
    };
    receiver.begin_changegroup(&origin, Phase::Draft).unwrap();
    receiver
}

/// Hands all revisions of a revlog to `give`, as full texts.
fn each(view: &varve_repo::RepoView, log: &Revlog, mut give: impl FnMut(&NewRevision<'_>)) {
    for rev in log.revs() {
        let text = log.text(rev).unwrap();
        let mut patch = vec![0; 8];
        patch.extend_from_slice(&(text.len() as u32).to_be_bytes());
        patch.extend_from_slice(&text);
        let link = view.changelog().rev_at(log.linkrev(rev)).unwrap();
        give(&NewRevision {
            node: log.node(rev),
            parents: log.parents(rev).map(|parent| log.node_or_null(parent)),
            base: Node::NULL,
            changeset: view.changelog().node(link),
            flags: 0,
            patch: &patch,
        });
    }
}

/// Receives all that `source` has; stops with an error before the end if `fails`.
fn receive(source: &Repository, target: &Repository, fails: bool) {
    let view = source.view().unwrap();
    let mut receiver = receiver(target);
    each(&view, view.changelog(), |new| {
        receiver.changeset(new).unwrap()
    });
    each(&view, view.manifest().unwrap(), |new| {
        receiver.manifest(new).unwrap()
    });
    for file in view.tracked_files().unwrap() {
        receiver.begin_file(&file).unwrap();
        let log = view.filelog(&file).unwrap();
        each(&view, &log, |new| receiver.file_revision(new).unwrap());
    }
    if fails {
        let odd = NewRevision {
            node: Node([1; 20]),
            parents: [Node::NULL; 2],
            base: Node::NULL,
            changeset: view.changelog().node(view.tip().unwrap()),
            flags: 0,
            patch: b"",
        };
        // It may be stored later than it is taken.
        let taken = receiver.file_revision(&odd);
        let wrong = taken.err().or(receiver.abandon()).unwrap().to_string();
        assert!(wrong.contains("integrity"), "{wrong}");
        return;
    }
    receiver.end_changegroup().unwrap();
    let (report, _) = receiver.finish().unwrap();
    let arrived = &report.changegroups[0];
    let new = view.changelog().len() - 1;
    assert_eq!((arrived.changesets, report.new.len()), (new, new));
    assert_eq!(arrived.changes, if new == 2 { 4 } else { 100 });
}

/// A repository with three changesets, the first of which the recorded one has already.
fn source_and_target(fails: bool) -> Recorder {
    let (from, recorder) = (Recorder::default(), Recorder::default());
    let source = Repository::create(memory(&from), Path::new("")).unwrap();
    let target = Repository::create(memory(&recorder), Path::new("")).unwrap();
    commit(&target, 1, 300);
    recorder.acknowledge();
    for (round, len) in [(1, 300), (2, 140_000), (3, 400)] {
        commit(&source, round, len);
    }
    receive(&source, &target, fails);
    recorder
}

#[test]
fn every_cut_leaves_all_that_came_or_nothing() {
    let mut undone = 0;
    let images = source_and_target(false).for_each_image(16, |image| {
        let interrupted = image.storage.kind(Path::new(".hg/store/journal")).unwrap();
        let before = read_everything(image.storage.clone());
        let Some(repository) = recovered(&image.storage) else {
            return;
        };
        let found = read_everything(image.storage.clone());
        if image.acknowledged > 0 {
            undone += usize::from(interrupted.is_some());
            assert!([1, 3].contains(&found), "{found} after {}", image.cut);
            assert!([1, 3].contains(&before), "{before} after {}", image.cut);
            commit(&repository, 9, 500);
            assert_eq!(read_everything(image.storage.clone()), found + 1);
        }
    });
    assert!(images > 100 && undone > 40, "{undone} of {images} images");
}

#[test]
fn what_fails_is_as_it_was() {
    let recorder = source_and_target(true);
    let storage = memory(&recorder);
    let store = Path::new(".hg/store");
    assert!(storage.kind(&store.join("journal")).unwrap().is_none());
    assert!(
        storage
            .kind(&store.join("data/only in 2.i"))
            .unwrap()
            .is_none()
    );
    assert!(storage.kind(&store.join("data/same.d")).unwrap().is_none());
    let repository = Repository::open(storage, Path::new("")).unwrap();
    assert_eq!(repository.view().unwrap().changelog().len(), 1);
    commit(&repository, 2, 500);
}

/// More than wait at once for the journal to learn that their indexes are replaced, and enough
/// bytes to have threads store them.
#[test]
fn many_histories_grow_out_of_their_indexes_at_once() {
    let (from, into) = (Recorder::default(), Recorder::default());
    let source = Repository::create(memory(&from), Path::new("")).unwrap();
    let target = Repository::create(memory(&into), Path::new("")).unwrap();
    let commit = |repository: &Repository, seed: u32| {
        let file = |number| (format!("f{number:03}"), repos::noise(70_000, seed + number));
        let files: Vec<(String, Vec<u8>)> = (0..100).map(file).collect();
        let files = files
            .iter()
            .map(|(name, content)| (&name[..], &content[..]));
        commit_files(repository, &files.collect::<Vec<_>>());
    };
    for repository in [&source, &target] {
        commit(repository, 0);
    }
    commit(&source, 1000);
    receive(&source, &target, false);
    let [theirs, ours] = [&source, &target].map(|repository| repository.view().unwrap());
    for file in theirs.tracked_files().unwrap() {
        let [a, b] = [&theirs, &ours].map(|view| view.filelog(&file).unwrap());
        assert_eq!(a.len(), 2);
        assert_eq!(
            a.text(varve_repo::Rev(1)).unwrap(),
            b.text(varve_repo::Rev(1)).unwrap()
        );
    }
    let list = varve_base::storage::read_if_there(&into, Path::new(".hg/store/fncache")).unwrap();
    let list = String::from_utf8(list.unwrap()).unwrap();
    assert_eq!(
        list.lines().filter(|line| line.ends_with(".d")).count(),
        100
    );
    assert!(
        memory(&into)
            .kind(Path::new(".hg/store/journal"))
            .unwrap()
            .is_none()
    );
}

/// Patch from `old` to `new`: one hunk from the first difference to the last.
fn hunk(old: &[u8], new: &[u8]) -> Vec<u8> {
    let alike =
        |pairs: &mut dyn Iterator<Item = (&u8, &u8)>| pairs.take_while(|(a, b)| a == b).count();
    let start = alike(&mut old.iter().zip(new));
    let end = alike(&mut old[start..].iter().rev().zip(new[start..].iter().rev()));
    let data = &new[start..new.len() - end];
    let mut patch = Vec::new();
    for number in [start, old.len() - end, data.len()] {
        patch.extend_from_slice(&(number as u32).to_be_bytes());
    }
    patch.extend_from_slice(data);
    patch
}

/// Receives a repository of three changesets whose manifest `damaged` has another text than its
/// name says, each as a delta against the one before.
fn receive_deltas(damaged: usize, check_all: bool) -> Result<Repository, String> {
    let (from, into) = (Recorder::default(), Recorder::default());
    let source = Repository::create(memory(&from), Path::new("")).unwrap();
    let target = Repository::create(memory(&into), Path::new("")).unwrap();
    let names: Vec<String> = (0..300).map(|number| format!("f{number:03}")).collect();
    for round in 0..3 {
        let changed = match round {
            0 => &names[..],
            _ => &names[round..=round],
        };
        let content = [round as u8];
        let files = changed.iter().map(|name| (&name[..], &content[..]));
        commit_files(&source, &files.collect::<Vec<_>>());
    }
    let view = source.view().unwrap();
    let mut receiver = receiver(&target);
    if check_all {
        receiver.check_all();
    }
    each(&view, view.changelog(), |new| {
        receiver.changeset(new).unwrap()
    });
    let (mut old, mut base, mut rev) = (Vec::new(), Node::NULL, 0);
    let manifest = view.manifest().unwrap();
    each(&view, manifest, |new| {
        let mut text = new.patch[12..].to_vec();
        let mut patch = hunk(&old, &text);
        if rev == damaged {
            // A digit within the new text.
            let last = patch.len() - 1;
            patch[last] = if patch[last] == b'0' { b'1' } else { b'0' };
            text.clear();
            varve_delta::apply(&patch, &old, &mut text).unwrap();
        }
        let new = NewRevision {
            base,
            patch: &patch,
            ..*new
        };
        receiver.manifest(&new).unwrap();
        (old, base, rev) = (text, new.node, rev + 1);
    });
    if let Err(error) = receiver.end_changegroup() {
        receiver.abandon();
        return Err(error.to_string());
    }
    receiver.finish().unwrap();
    Ok(target)
}

#[test]
fn manifests_are_compared_with_their_names_before_they_are_believed() {
    // Deltas that are not looked at, but those of heads and full texts are.
    for (damaged, check_all) in [(0, false), (2, false), (0, true), (1, true), (2, true)] {
        let error = receive_deltas(damaged, check_all).err().unwrap();
        assert!(error.contains("integrity"), "{damaged}: {error}");
    }
    let target = receive_deltas(9, false).unwrap();
    let view = target.view().unwrap();
    for rev in 0..3 {
        assert!(view.manifest_text(Some(varve_repo::Rev(rev))).is_ok());
    }
}

/// As while another process's commit is almost done: its changeset is there and named, and its
/// journal is there too.
#[test]
fn a_view_knows_what_later_changesets_build_on() {
    let recorder = Recorder::default();
    let repository = Repository::create(memory(&recorder), Path::new("")).unwrap();
    commit(&repository, 1, 300);
    let view = repository.view().unwrap();
    for round in [2, 3] {
        commit(&repository, round, 300);
    }
    let now = repository.view().unwrap();
    let len = 64 * view.changelog().len();
    let journal = Path::new(".hg/store/journal");
    let file = recorder.open(journal, OpenMode::CreateNew).unwrap();
    let line = format!("00changelog.i\0{len}\n");
    file.append(line.as_bytes()).unwrap();
    let tip = now.changelog().node_or_null(now.tip());
    assert_eq!(repository.view().unwrap().changelog().rev(&tip), None);
    assert_eq!(view.newest_known_ancestor(&tip).unwrap(), view.tip());
    assert!(view.newest_known_ancestor(&Node([7; 20])).is_err());
}

//! Contents of a clone besides revisions: phases, bookmarks, the default path.

use crate::histories::{MemoryRepo, bookmarks};
use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, OpenMode, Silent};
use varve_codec::EngineSetting;
use varve_lang::date::{Clock, DateRange, Zone};
use varve_repo::{LookupError, Phase, Repository, Rev, ViewFilter};

fn clone_of(source: &MemoryRepo, heads: &[Rev]) -> Repository {
    let view = source.view(ViewFilter::Served);
    let work = (&Silent as &dyn varve_base::Progress, &Interrupt::default());
    let place = (Path::new("clone"), source.repository.requirements());
    let write = EngineSetting::ZLIB.into();
    let made = source
        .repository
        .clone_revisions(&view, place, heads, write, work);
    made.unwrap().0
}

fn read(repository: &Repository, name: &str) -> Option<String> {
    let path = repository.root().join(name);
    let bytes = varve_base::storage::read_if_there(repository.storage().as_ref(), &path).unwrap();
    bytes.map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn phases_of_the_source_replace_public_ones() {
    let (source, nodes) = MemoryRepo::new(&[&[], &[0], &[1], &[0]]);
    source.set_phase(&nodes[1], Phase::Public);
    let target = clone_of(&source, &[Rev(2)]);
    let phases = |target: &Repository| -> Vec<Phase> {
        let view = target.view_for(ViewFilter::Unfiltered).unwrap();
        let revs = view.changelog().revs();
        revs.map(|rev| view.phases().of(rev)).collect()
    };
    assert_eq!(phases(&target), [Phase::Public; 3]);
    target
        .copy_phases(&source.view(ViewFilter::Served))
        .unwrap();
    assert_eq!(
        phases(&target),
        [Phase::Public, Phase::Public, Phase::Draft]
    );
}

#[test]
fn bookmarks_come_along_with_their_changesets() {
    let (source, nodes) = MemoryRepo::new(&[&[], &[0], &[0]]);
    let target = clone_of(&source, &[Rev(1)]);
    let all = bookmarks(&[("a name", nodes[1]), ("elsewhere", nodes[2])]);
    target.copy_bookmarks(&all).unwrap();
    let view = target.view_for(ViewFilter::Unfiltered).unwrap();
    assert_eq!(*view.bookmarks(), bookmarks(&[("a name", nodes[1])]));
    let line = format!("{} a name\n", nodes[1]);
    assert_eq!(read(&target, ".hg/bookmarks"), Some(line));
}

#[test]
fn files_that_the_list_loses_under_a_server_are_still_in_the_store() {
    let (source, _) = MemoryRepo::new(&[&[], &[0]]);
    let storage = source.repository.storage();
    let put = |name: &str, text: &[u8]| {
        let path = Path::new("r/.hg/store").join(name);
        // In place: a rename would show in the directory.
        let is_there = storage.kind(&path).unwrap().is_some();
        let mode = if is_there {
            OpenMode::Append
        } else {
            OpenMode::CreateNew
        };
        let file = storage.open(&path, mode).unwrap();
        file.truncate(0).unwrap();
        file.append(text).unwrap();
    };
    put("data/0.d", b"chunks");
    let names = || -> Vec<String> {
        let files = source.repository.store_files().unwrap().into_iter();
        let names = files.map(|file| String::from_utf8(file.name).unwrap());
        names.filter(|name| name.starts_with("data/")).collect()
    };
    let view = source.view(ViewFilter::Served);
    let lists = [
        "data/0.d\ndata/0.i\ndata/1.i\n",
        "data/0.i\ndata/1.i\n",
        "data/1.i\n",
        "",
        "data/0.d\ndata/0.i\ndata/1.i\n",
    ];
    for list in lists {
        put("fncache", list.as_bytes());
        for _ in 0..2 {
            let mut found = names();
            found.sort();
            assert_eq!(found, ["data/0.d", "data/0.i", "data/1.i"], "{list:?}");
        }
    }
    assert!(Arc::ptr_eq(&view, &source.view(ViewFilter::Served)));
}

#[test]
fn without_bookmarks_there_is_no_file() {
    let (source, nodes) = MemoryRepo::new(&[&[], &[]]);
    let target = clone_of(&source, &[Rev(0)]);
    target
        .copy_bookmarks(&bookmarks(&[("b", nodes[1])]))
        .unwrap();
    assert_eq!(read(&target, ".hg/bookmarks"), None);
}

#[test]
fn the_source_is_the_default_path() {
    let (source, _) = MemoryRepo::new(&[]);
    let expected = |path: &str| Some(format!("[paths]\ndefault = {path}\n"));
    for path in ["/somewhere", "https://example.org/r"] {
        source
            .repository
            .write_default_path(path.as_bytes())
            .unwrap();
        assert_eq!(read(&source.repository, ".hg/hgrc"), expected(path));
    }
    source
        .repository
        .write_configuration_of_clone(b"/elsewhere")
        .unwrap();
    let of_clone = read(&source.repository, ".hg/hgrc").unwrap();
    assert!(
        of_clone.contains("\n[paths]\ndefault = /elsewhere\n"),
        "{of_clone}"
    );
    let storage = source.repository.storage();
    assert!(storage.kind(Path::new("r/.hg/hgrc.new")).unwrap().is_none());
}

#[test]
fn a_bookmark_is_created_and_moved_beside_others() {
    let (repo, nodes) = MemoryRepo::new(&[&[], &[0]]);
    repo.set_bookmark("one", nodes[0]);
    repo.set_bookmark("two", nodes[0]);
    repo.set_bookmark("one", nodes[1]);
    let expected = bookmarks(&[("one", nodes[1]), ("two", nodes[0])]);
    assert_eq!(*repo.view(ViewFilter::Visible).bookmarks(), expected);
}

#[test]
fn secret_changesets_are_refused_by_the_first_digits_of_their_names() {
    let (repo, nodes) = MemoryRepo::new(&[&[], &[0]]);
    repo.set_phase(&nodes[1], Phase::Secret);
    let view = repo.view(ViewFilter::Served);
    assert!(view.check_visible(&[Rev(0)]).is_ok());
    match view.check_visible(&[Rev(0), Rev(1)]) {
        Err(LookupError::Hidden { name, .. }) => {
            assert_eq!(name, nodes[1].to_string()[..12]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_newest_changeset_of_a_range_of_dates_is_found() {
    let (repo, nodes) = MemoryRepo::new(&[&[], &[0], &[1]]);
    let clock = Clock {
        now: 0,
        zone: Zone::fixed_east(0),
    };
    let newest = |range: &str| {
        let range = DateRange::parse(range, &clock).unwrap();
        let view = repo.view(ViewFilter::Visible);
        let found = view.newest_dated(&range).unwrap();
        found.map(|(rev, date)| (view.changelog().node(rev), date.time))
    };
    assert_eq!(newest("<10 0"), Some((nodes[1], 10)));
    assert_eq!(newest(">0 0"), Some((nodes[2], 20)));
    assert_eq!(newest(">21 0"), None);
    assert_eq!(newest("0 0"), Some((nodes[0], 0)));
}

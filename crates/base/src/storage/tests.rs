use super::*;

/// Every implementation goes through this one test.
fn check_storage(storage: &dyn Storage) {
    let path = Path::new("a/b/file");
    assert!(
        storage
            .open(path, OpenMode::Read)
            .unwrap_err()
            .is_not_found()
    );
    assert!(read_if_there(storage, path).unwrap().is_none());
    storage.create_directory(Path::new("a/b")).unwrap();
    let file = storage.open(path, OpenMode::CreateNew).unwrap();
    assert!(
        storage
            .open(path, OpenMode::CreateNew)
            .unwrap_err()
            .is_already_there()
    );
    assert_eq!(file.append(b"hello ").unwrap(), 0);
    assert_eq!(file.append(b"world").unwrap(), 6);
    file.sync().unwrap();
    assert_eq!(file.read_vec(6, 5).unwrap(), b"world");
    let mut buf = [0; 8];
    assert_eq!(file.read_at(9, &mut buf).unwrap(), 2);
    assert!(matches!(
        file.read_vec(9, 3),
        Err(StorageError::Short {
            len: 11,
            wanted: 12,
            ..
        })
    ));
    let huge = file.read_vec(4, usize::MAX);
    assert!(
        matches!(huge, Err(StorageError::Short { len: 11, .. })),
        "{huge:?}"
    );
    file.truncate(5).unwrap();
    assert_eq!(file.append(b"!").unwrap(), 5);
    let reader = storage.open(path, OpenMode::Read).unwrap();
    assert_eq!(reader.read_all().unwrap(), b"hello!");
    assert_eq!(storage.file_len(path).unwrap(), Some(6));
    assert_eq!(storage.file_len(Path::new("a/c")).unwrap(), None);
    assert_eq!(storage.file_len(Path::new("a")).unwrap(), None);
    assert!(reader.append(b"no").is_err());
    check_holes(storage);
    check_names(storage, reader.as_ref());
}

/// Continues [`check_storage`] with bytes that are given back.
fn check_holes(storage: &dyn Storage) {
    let path = Path::new("a/holes");
    let file = storage.open(path, OpenMode::CreateNew).unwrap();
    file.append(&[7; 12288]).unwrap();
    let reader = storage.open(path, OpenMode::Read).unwrap();
    reader.pin().unwrap();
    let _ = file.punch_hole(8192..12288).unwrap();
    drop(reader);
    // Not every file system has holes.
    let hole = file.punch_hole(4096..8192).unwrap();
    let now = file.read_all().unwrap();
    assert_eq!(now.len(), 12288);
    assert_eq!(now[..4096], [7; 4096]);
    let expected = if hole == Hole::Made {
        [0; 4096]
    } else {
        [7; 4096]
    };
    assert_eq!(now[4096..8192], expected);
    storage.remove(path).unwrap();
}

/// Continues [`check_storage`] with renames, listings and removals.
fn check_names(storage: &dyn Storage, reader: &dyn StorageFile) {
    let path = Path::new("a/b/file");
    let before = storage.modified(Path::new("a")).unwrap().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    replace(storage, Path::new("a/small"), b"one").unwrap();
    assert!(storage.modified(Path::new("a")).unwrap().unwrap() > before);
    assert_eq!(storage.modified(Path::new("none")).unwrap(), None);
    replace(storage, Path::new("a/small"), b"two").unwrap();
    assert_eq!(
        read_if_there(storage, Path::new("a/small"))
            .unwrap()
            .unwrap(),
        b"two"
    );
    let mut names: Vec<_> = storage.list(Path::new("a")).unwrap();
    names.sort_by(|x, y| x.name.cmp(&y.name));
    let expected = [("b", EntryKind::Directory), ("small", EntryKind::File)];
    assert!(
        names
            .iter()
            .map(|e| (e.name.to_str().unwrap(), e.kind))
            .eq(expected)
    );

    storage
        .rename(Path::new("a/small"), Path::new("a/b/file"))
        .unwrap();
    assert_eq!(
        reader.read_all().unwrap(),
        b"hello!",
        "an open file outlives its name"
    );
    check_links(storage, path);
    check_trees(storage);
    storage.remove(path).unwrap();
    assert_eq!(storage.kind(path).unwrap(), None);
    assert_eq!(
        storage.kind(Path::new("a/b")).unwrap(),
        Some(EntryKind::Directory)
    );
}

fn check_trees(storage: &dyn Storage) {
    let make = |directory: &str, bytes: &[u8]| {
        storage
            .create_directory(Path::new(directory).join("in").as_path())
            .unwrap();
        replace(storage, &Path::new(directory).join("in/file"), bytes).unwrap();
    };
    make("one", b"1");
    make("two", b"2");
    let (one, two) = (Path::new("one"), Path::new("two"));
    storage.sync_tree(one).unwrap();
    storage.exchange(one, two).unwrap();
    let read = |path: &str| read_if_there(storage, Path::new(path)).unwrap();
    assert_eq!(read("one/in/file").as_deref(), Some(&b"2"[..]));
    assert_eq!(read("two/in/file").as_deref(), Some(&b"1"[..]));
    assert!(storage.exchange(one, Path::new("three")).is_err());
    storage.remove_tree(one).unwrap();
    storage.remove_tree(one).unwrap();
    assert_eq!(storage.kind(one).unwrap(), None);
    assert_eq!(read("one/in/file"), None);
    storage.remove_tree(two).unwrap();
}

fn check_links(storage: &dyn Storage, path: &Path) {
    let (second, lock) = (Path::new("a/second"), Path::new("a/lock"));
    storage.link(path, second).unwrap();
    assert!(storage.link(path, second).unwrap_err().is_already_there());
    let appended = storage.open(second, OpenMode::Append).unwrap();
    appended.append(b" more").unwrap();
    let read = |path| read_if_there(storage, path).unwrap().unwrap();
    assert_eq!(
        (read(path), read(second)),
        (b"two".to_vec(), b"two more".to_vec())
    );
    storage.remove(second).unwrap();
    storage.link(path, second).unwrap();
    replace(storage, path, b"newer").unwrap();
    let bytes = read_if_there(storage, second).unwrap().unwrap();
    assert_eq!(bytes, b"two", "a second name keeps what was replaced");
    assert_eq!(storage.read_symlink(lock).unwrap(), None);
    storage.create_symlink("host:1", lock).unwrap();
    let again = storage.create_symlink("host:2", lock);
    assert!(again.unwrap_err().is_already_there());
    let told = storage.read_symlink(lock).unwrap();
    assert_eq!(told.as_deref(), Some("host:1"));
    assert_eq!(storage.kind(lock).unwrap(), Some(EntryKind::Other));
    let text = storage.read_symlink(second).unwrap();
    assert_eq!(text.as_deref(), Some("two"));
    storage.remove(lock).unwrap();
    storage.create_symlink("host:2", lock).unwrap();
    storage.remove(lock).unwrap();
    storage.remove(second).unwrap();
}

#[test]
fn memory_keeps_the_contract() {
    check_storage(&MemoryStorage::default());
}

#[test]
fn an_overlay_keeps_the_contract() {
    let scratch = MemoryStorage::default();
    let scratch = scratch.open(Path::new("scratch"), OpenMode::CreateNew);
    let base = Arc::new(MemoryStorage::default());
    check_storage(&OverlayStorage::new(base, scratch.unwrap()));
}

#[test]
fn a_cached_read_gives_the_same_bytes_or_would_block() {
    let directory = tempfile::tempdir().unwrap();
    let storage = DiskStorage::new(directory.path());
    let file = storage.open(Path::new("a"), OpenMode::CreateNew).unwrap();
    let written: Vec<u8> = (0..300 << 10).map(|at: u32| (at % 251) as u8).collect();
    file.append(&written).unwrap();
    let read = |mode, offset, len: usize| {
        let mut bytes = vec![0; len];
        let done = file.read_exact_by(mode, offset, &mut bytes);
        done.map(|()| bytes)
    };
    // The system may have dropped the pages.
    match read(ReadMode::CachedOnly, 1, 9) {
        Ok(bytes) => assert_eq!(bytes, written[1..10]),
        Err(error) => assert!(error.is_would_block(), "{error}"),
    }
    let long = 280 << 10;
    let refused = read(ReadMode::CachedOnly, 1, long).unwrap_err();
    assert!(refused.is_would_block(), "{refused}");
    let bytes = read(ReadMode::Blocking, 1, long).unwrap();
    assert!(bytes == written[1..=long]);
    let behind = written.len() as u64 - 3;
    let short = read(ReadMode::Blocking, behind, 9).unwrap_err();
    assert!(matches!(short, StorageError::Short { .. }), "{short}");
    assert!(read(ReadMode::CachedOnly, behind, 9).is_err());
}

#[test]
fn long_work_is_refused_to_cached_readers_only() {
    assert!(ReadMode::Blocking.refuse_long_work(true).is_ok());
    assert!(ReadMode::CachedOnly.refuse_long_work(false).is_ok());
    let refused = ReadMode::CachedOnly.refuse_long_work(true).unwrap_err();
    assert!(refused.is_would_block());
}

#[test]
fn a_scratch_file_has_no_name() {
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = (
        scratch_file(directory.path()),
        scratch_file(directory.path()),
    );
    let (one, other) = (one.unwrap(), other.unwrap());
    one.append(b"one").unwrap();
    other.append(b"other").unwrap();
    assert_eq!(one.read_all().unwrap(), b"one");
    assert_eq!(other.read_all().unwrap(), b"other");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn disk_keeps_the_contract() {
    let directory = tempfile::tempdir().unwrap();
    check_storage(&DiskStorage::new(directory.path()));
}

#[test]
fn no_holes_are_punched_in_a_pinned_file() {
    let directory = tempfile::tempdir().unwrap();
    let storage = DiskStorage::new(directory.path());
    let file = storage.open(Path::new("a"), OpenMode::CreateNew).unwrap();
    file.append(&[7; 8192]).unwrap();
    let pinned = storage.open(Path::new("a"), OpenMode::Read).unwrap();
    pinned.pin().unwrap();
    let expected = match file.punch_hole(0..4096).unwrap() {
        Hole::Impossible => [7; 8192].to_vec(),
        made => {
            assert_eq!(made, Hole::InUse);
            drop(pinned);
            assert_eq!(file.punch_hole(0..4096).unwrap(), Hole::Made);
            [[0; 4096], [7; 4096]].concat()
        }
    };
    assert_eq!(file.read_vec(0, 8192).unwrap(), expected);
}

use super::*;
use crate::MemoryStorage;
use crate::storage::read_if_there;
use proptest::prelude::*;

const FILES: [&str; 6] = ["a/x", "a/y", "a/b/x", "a/b/z", "c/x", "d/e/x"];
const DIRECTORIES: [&str; 5] = ["a", "a/b", "c", "d", "d/e"];

/// Operation applied to both storages.
#[derive(Clone, Debug)]
enum Step {
    Append(usize, Vec<u8>),
    Truncate(usize, u64),
    Create(usize, Vec<u8>),
    Rename(usize, usize),
    RenameDirectory(usize, usize),
    Exchange(usize, usize),
    Link(usize, usize),
    Remove(usize),
    RemoveTree(usize),
    Directory(usize),
    Symlink(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let (file, directory) = (0..FILES.len(), 0..DIRECTORIES.len());
    let bytes = || proptest::collection::vec(any::<u8>(), 0..40);
    let files = || (file.clone(), file.clone());
    let directories = || (directory.clone(), directory.clone());
    prop_oneof![
        4 => (file.clone(), bytes()).prop_map(|(file, bytes)| Step::Append(file, bytes)),
        2 => (file.clone(), 0_u64..60).prop_map(|(file, len)| Step::Truncate(file, len)),
        2 => (file.clone(), bytes()).prop_map(|(file, bytes)| Step::Create(file, bytes)),
        2 => files().prop_map(|(from, to)| Step::Rename(from, to)),
        1 => directories().prop_map(|(from, to)| Step::RenameDirectory(from, to)),
        1 => directories().prop_map(|(one, other)| Step::Exchange(one, other)),
        2 => files().prop_map(|(from, to)| Step::Link(from, to)),
        2 => file.clone().prop_map(Step::Remove),
        1 => directory.clone().prop_map(Step::RemoveTree),
        2 => directory.clone().prop_map(Step::Directory),
        1 => file.clone().prop_map(Step::Symlink),
    ]
}

/// Whether a step makes sense: memory allows further steps that file systems refuse.
fn is_sound(model: &MemoryStorage, step: &Step) -> bool {
    let kind = |path: &str| model.kind(Path::new(path)).unwrap();
    let has_directory = |path: &str| {
        let directory = Path::new(path).parent().unwrap().to_str().unwrap();
        directory.is_empty() || kind(directory) == Some(EntryKind::Directory)
    };
    let is_file = |path: &str| kind(path) == Some(EntryKind::File);
    let inside = |a: &str, b: &str| Path::new(a).starts_with(b) || Path::new(b).starts_with(a);
    match step {
        // Memory puts a file beside a link.
        Step::Create(file, _) if kind(FILES[*file]) == Some(EntryKind::Other) => false,
        Step::Create(file, _) | Step::Symlink(file) => has_directory(FILES[*file]),
        Step::Rename(from, to) => {
            let is_link = kind(FILES[*to]) == Some(EntryKind::Other);
            is_file(FILES[*from]) && has_directory(FILES[*to]) && !is_link
        }
        Step::RenameDirectory(from, to) => {
            let (from, to) = (DIRECTORIES[*from], DIRECTORIES[*to]);
            kind(from).is_some() && kind(to).is_none() && has_directory(to) && !inside(from, to)
        }
        Step::Exchange(one, other) => !inside(DIRECTORIES[*one], DIRECTORIES[*other]),
        Step::Link(_, to) => has_directory(FILES[*to]),
        Step::Append(..) | Step::Truncate(..) | Step::Remove(_) => true,
        Step::RemoveTree(_) | Step::Directory(_) => true,
    }
}

fn take(storage: &dyn Storage, step: &Step) -> Result<(), StorageError> {
    let file = |number: &usize| Path::new(FILES[*number]);
    let directory = |number: &usize| Path::new(DIRECTORIES[*number]);
    match step {
        Step::Append(at, bytes) => {
            let open = storage.open(file(at), OpenMode::Append)?;
            open.append(bytes).map(drop)
        }
        Step::Truncate(at, len) => {
            let open = storage.open(file(at), OpenMode::Append)?;
            open.truncate((*len).min(open.len()?))
        }
        Step::Create(at, bytes) => {
            let open = storage.open(file(at), OpenMode::CreateNew)?;
            open.append(bytes).map(drop)
        }
        Step::Rename(from, to) => storage.rename(file(from), file(to)),
        Step::RenameDirectory(from, to) => storage.rename(directory(from), directory(to)),
        Step::Exchange(one, other) => storage.exchange(directory(one), directory(other)),
        Step::Link(from, to) => storage.link(file(from), file(to)),
        Step::Remove(at) => storage.remove(file(at)),
        Step::RemoveTree(at) => storage.remove_tree(directory(at)),
        Step::Directory(at) => storage.create_directory(directory(at)),
        Step::Symlink(at) => storage.create_symlink("target", file(at)),
    }
}

/// Everything that can be seen.
fn look(storage: &dyn Storage) -> Vec<String> {
    let mut seen = Vec::new();
    for path in FILES.iter().chain(&DIRECTORIES).map(Path::new) {
        let (kind, len) = (storage.kind(path).unwrap(), storage.file_len(path).unwrap());
        let text = match kind {
            Some(EntryKind::Directory) => None,
            _ => storage.read_symlink(path).unwrap(),
        };
        let bytes = match kind {
            Some(EntryKind::File) => read_if_there(storage, path).unwrap(),
            _ => None,
        };
        let mut names: Vec<String> = match storage.list(path) {
            Ok(entries) => entries.iter().map(|entry| format!("{entry:?}")).collect(),
            Err(error) => vec![format!("not found: {}", error.is_not_found())],
        };
        names.sort();
        let is_there = storage.modified(path).unwrap().is_some();
        seen.push(format!(
            "{path:?} {kind:?} {len:?} {text:?} {bytes:?} {names:?} {is_there}"
        ));
    }
    seen
}

fn overlay(base: &MemoryStorage) -> OverlayStorage {
    let scratch = MemoryStorage::default().open(Path::new("scratch"), OpenMode::CreateNew);
    OverlayStorage::new(Arc::new(base.clone()), scratch.unwrap())
}

fn start() -> MemoryStorage {
    let files = ["a/x", "a/b/x", "a/b/z", "c/x"];
    let file = |path: &&str| (PathBuf::from(path), path.repeat(5).into_bytes());
    let start = MemoryStorage::with_files(files.iter().map(file));
    start.create_directory(Path::new("d/e")).unwrap();
    start.create_symlink("host:1", Path::new("a/y")).unwrap();
    start
}

proptest! {
    #[test]
    fn an_overlay_is_as_its_own_copy_and_leaves_the_base(
        steps in proptest::collection::vec(step(), 0..40)
    ) {
        let (base, model) = (start(), start());
        let before = look(&base);
        let overlay = overlay(&base);
        for step in steps.iter().filter(|step| is_sound(&model, step)) {
            // Asked before, because soundness is about the model as it is now.
            let (expected, got) = (take(&model, step), take(&overlay, step));
            prop_assert_eq!(expected.is_ok(), got.is_ok(), "{:?}: {:?} {:?}", step, expected, got);
            prop_assert_eq!(look(&model), look(&overlay), "after {:?}", step);
        }
        prop_assert_eq!(look(&base), before);
    }

    #[test]
    fn any_range_of_a_file_can_be_read(
        pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..9), 0..9),
        cut in 0_u64..40,
        (from, len) in (0_usize..90, 0_usize..40),
    ) {
        let (base, path) = (start(), Path::new("c/x"));
        let overlay = overlay(&base);
        let (file, other) = (
            overlay.open(path, OpenMode::Append).unwrap(),
            overlay.open(Path::new("a/x"), OpenMode::Append).unwrap(),
        );
        let mut model = b"c/x".repeat(5);
        for (number, piece) in pieces.iter().enumerate() {
            file.append(piece).unwrap();
            model.extend_from_slice(piece);
            if number % 2 == 0 {
                other.append(b"between").unwrap();
            }
            if number == 4 {
                let cut = cut.min(model.len() as u64);
                file.truncate(cut).unwrap();
                model.truncate(cut as usize);
            }
        }
        let mut buf = vec![0; len];
        let got = file.read_at(from as u64, &mut buf).unwrap();
        let behind = model.get(from..).unwrap_or_default();
        prop_assert_eq!(&buf[..got], &behind[..len.min(behind.len())]);
    }
}

#[test]
fn readers_see_appended_bytes_and_not_those_of_the_base() {
    let base = start();
    let overlay = overlay(&base);
    let path = Path::new("c/x");
    let reader = overlay.open(path, OpenMode::Read).unwrap();
    let below = base.open(path, OpenMode::Append).unwrap();
    below.append(b"later").unwrap();
    let writer = overlay.open(path, OpenMode::Append).unwrap();
    writer.append(b" and more").unwrap();
    let expected = [&b"c/x".repeat(5)[..], b" and more"].concat();
    assert_eq!(reader.read_all().unwrap(), expected);
    assert!(reader.append(b"x").is_err());
}

#[test]
fn a_directory_tells_that_something_happened_in_it() {
    let overlay = overlay(&start());
    let time = |directory: &str| overlay.modified(Path::new(directory)).unwrap().unwrap();
    let before = (time("a"), time("c"));
    overlay.remove(Path::new("c/x")).unwrap();
    assert_eq!(time("a"), before.0);
    assert_ne!(time("c"), before.1);
}

//! How much Varve stores where the real `hg` stores the same.

use std::path::Path;
use std::sync::Arc;
use varve_base::{DiskStorage, MemoryStorage, Storage};
use varve_codec::{CodecId, EngineSetting};
use varve_repo::{FileChange, FileKind, NewChangeset, Node, Phase, Repository, StorageSettings};
use varve_revlog::{Appender, Content, NewRevision, Rev, RevisionHints, Revlog};
use varve_testkit::peers::{Hg, hg, small_corpus};
use varve_testkit::repos;

/// About 4 KB of words.
fn text() -> Vec<u8> {
    const WORDS: &[&str] = &[
        "layer", "sediment", "of", "the", "lake", "and", "river", "which", "spring", "brings",
        "down", "each", "year", "summer", "clay", "dark", "light", "thin", "counted", "by",
    ];
    let picks = repos::noise(800, 9);
    let words: Vec<_> = picks
        .iter()
        .map(|pick| WORDS[usize::from(*pick) % WORDS.len()])
        .collect();
    let lines: Vec<_> = words.chunks(11).map(|line| line.join(" ")).collect();
    (lines.join("\n") + "\n").into_bytes()
}

fn settings(values: &[(&str, &str)]) -> StorageSettings {
    let find = |section: &str, name: &str| {
        let key = format!("{section}.{name}");
        let found = values.iter().find(|(k, _)| *k == key);
        found.map(|(_, value)| (*value).to_owned())
    };
    StorageSettings::read(&find).unwrap()
}

fn commit(repository: &Repository, settings: &StorageSettings, parent: Node, text: &[u8]) -> Node {
    let options = settings.write_options(repository.requirements());
    let mut batch = repository.begin(options).unwrap();
    let change = FileChange::Write {
        path: b"f",
        content: text,
        kind: FileKind::Plain,
        copied_from: None,
    };
    let new = NewChangeset {
        parents: [parent, Node::NULL],
        user: b"somebody",
        date: (0, 0),
        branch: b"default",
        extras: &[],
        description: b"text",
        phase: Phase::Draft,
        changes: &[change],
    };
    let node = batch.commit(&new).unwrap();
    batch.finish().unwrap();
    node
}

/// Bytes of the chunks of the file `f`.
fn stored(root: &Path) -> u64 {
    let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new(root));
    let revlog = Revlog::open(&storage, Path::new(".hg/store/data/f.i")).unwrap();
    revlog.data_len()
}

/// Bytes in which Varve and `hg` store one text, with the same settings.
fn both(hg: &Hg, text: &[u8], values: &[(&str, &str)]) -> (u64, u64) {
    let directory = tempfile::tempdir().unwrap();
    let settings = settings(values);
    let (ours, theirs) = (
        directory.path().join("ours"),
        directory.path().join("theirs"),
    );
    let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new(Path::new("/")));
    let engine = settings.engine_of_new().unwrap();
    let repository = Repository::create_with(storage, &ours, engine).unwrap();
    commit(&repository, &settings, Node::NULL, text);
    let values: Vec<_> = values.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let values: Vec<_> = values.iter().map(String::as_str).collect();
    let hg = hg.with_config(&values);
    hg.ok(directory.path(), &["init", "theirs"]);
    std::fs::write(theirs.join("f"), text).unwrap();
    hg.ok(&theirs, &["commit", "-qAm", "text", "-u", "somebody"]);
    assert_eq!(
        repository.requirements().iter().collect::<Vec<_>>(),
        Repository::open(Arc::new(DiskStorage::new(Path::new("/"))), &theirs)
            .unwrap()
            .requirements()
            .iter()
            .collect::<Vec<_>>()
    );
    (stored(&ours), stored(&theirs))
}

#[test]
fn every_level_stores_as_little_as_hg() {
    let (hg, text) = (hg(), text());
    let mut sizes = Vec::new();
    for (engine, level) in [
        ("zlib", ""),
        ("zlib", "6"),
        ("zlib", "1"),
        ("zlib", "9"),
        ("zstd", ""),
        ("zstd", "1"),
        ("zstd", "19"),
        ("none", ""),
    ] {
        let key = format!("storage.revlog.{engine}.level");
        let mut values = vec![("format.revlog-compression", engine)];
        if !level.is_empty() {
            values.push((&key, level));
        }
        let (ours, theirs) = both(&hg, &text, &values);
        assert!(
            ours * 100 <= theirs * 101,
            "{engine} {level}: {ours} and {theirs}"
        );
        sizes.push(ours);
    }
    assert_eq!(sizes[0], sizes[1], "the default of zlib is level 6");
    assert!(sizes[2] > sizes[3], "level 1 stores more than level 9");
    assert_eq!(sizes[7], text.len() as u64 + 1);
}

/// Texts too short for compression, incompressible ones, and ones that begin with a zero byte.
#[test]
fn short_and_odd_texts_take_as_many_bytes_as_in_hg() {
    let hg = hg();
    let mut zero = repos::noise(300, 5);
    zero[0] = 0;
    let texts = [
        b"a".repeat(43),
        b"a".repeat(44),
        b"a".repeat(49),
        b"a".repeat(50),
        repos::noise(300, 4),
        zero,
        b"\0".repeat(20),
    ];
    for engine in ["zlib", "zstd", "none"] {
        for text in &texts {
            let (ours, theirs) = both(&hg, text, &[("format.revlog-compression", engine)]);
            assert!(ours <= theirs, "{engine}: {ours} and {theirs} of {text:?}");
        }
    }
}

#[test]
fn hg_reads_all_kinds_of_chunks_in_one_file() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("r");
    let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new(Path::new("/")));
    let repository = Repository::create_with(storage, &root, CodecId::Zlib).unwrap();
    let (mut parent, mut texts) = (Node::NULL, Vec::new());
    let engines = [
        EngineSetting::ZLIB,
        EngineSetting::ZSTD,
        EngineSetting::NONE,
    ];
    for (n, engine) in engines.into_iter().cycle().take(9).enumerate() {
        // Nothing in common, so that each is stored as a full text.
        let text = match n {
            0..3 => repos::noise(2000, 40 + n as u32)
                .iter()
                .map(|byte| b'a' + byte % 8)
                .collect(),
            3..6 => repos::noise(3000, 50 + n as u32),
            _ => [&b"\0"[..], &repos::noise(10, 60 + n as u32)].concat(),
        };
        let mut batch = repository.begin(engine).unwrap();
        let change = FileChange::Write {
            path: b"f",
            content: &text,
            kind: FileKind::Plain,
            copied_from: None,
        };
        let new = NewChangeset {
            parents: [parent, Node::NULL],
            user: b"somebody",
            date: (0, 0),
            branch: b"default",
            extras: &[],
            description: b"another engine",
            phase: Phase::Draft,
            changes: &[change],
        };
        parent = batch.commit(&new).unwrap();
        batch.finish().unwrap();
        texts.push(text);
    }
    let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new(&root));
    let revlog = Revlog::open(&storage, Path::new(".hg/store/data/f.i")).unwrap();
    let mut reader = revlog.reader();
    let first = |rev| reader.stored_chunk(rev).unwrap()[0];
    let mut kinds: Vec<_> = revlog.revs().map(first).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, *b"\0(ux");
    let hg = hg();
    hg.ok(&root, &["verify", "-q"]);
    for (n, text) in texts.iter().enumerate() {
        let out = directory.path().join("out");
        hg.ok(
            &root,
            &[
                "cat",
                "-r",
                &n.to_string(),
                "-o",
                out.to_str().unwrap(),
                "f",
            ],
        );
        assert_eq!(std::fs::read(&out).unwrap(), *text);
    }
}

/// Every revision of a repository of real content, stored anew.
#[test]
fn a_real_history_takes_no_more_than_in_hg() {
    let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new(Path::new("/")));
    let repository = Repository::open(Arc::clone(&storage), &small_corpus()).unwrap();
    let files = repository.store_files().unwrap();
    let (mut ours, mut theirs) = (0, 0);
    for path in files.into_iter().map(|file| file.path) {
        let content = match path.file_name().and_then(|name| name.to_str()) {
            Some("00manifest.i") => Content::Manifest,
            Some(name) if name.ends_with(".i") && name != "00changelog.i" => Content::File,
            _ => continue,
        };
        let before = Revlog::open(&storage, &path).unwrap();
        let after = again(&before, content);
        if content == Content::Manifest {
            assert!(after.data_len() <= before.data_len());
        }
        (ours, theirs) = (ours + after.data_len(), theirs + before.data_len());
        for rev in after.revs() {
            after.text(rev).unwrap();
        }
    }
    assert!(ours <= theirs, "{ours} and {theirs}");
}

fn again(revlog: &Revlog, content: Content) -> Revlog {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let path = Path::new("x.i");
    let mut appender = Appender::open(&storage, path, content, EngineSetting::ZSTD).unwrap();
    let mut reader = revlog.reader();
    for rev in revlog.revs() {
        let [p1, p2] = revlog.parents(rev);
        let new = NewRevision {
            text: reader.text(rev).unwrap(),
            p1,
            p2,
            link: Rev(0),
        };
        let given = RevisionHints {
            node: Some(revlog.node(rev)),
            ..RevisionHints::default()
        };
        appender.add_with_hints(&new, &given).unwrap();
    }
    appender.write().unwrap();
    Revlog::open(&storage, path).unwrap()
}

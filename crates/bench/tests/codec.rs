//! Which chunks are found, and that the report names all measurements. Never how fast.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::{Interrupt, MemoryStorage, Silent, Storage};
use varve_bench::BenchError;
use varve_bench::codec::{self, Measurements, Options, SourceKind};
use varve_bench::report;
use varve_btree::{NoReduction, NodeCache, TreeFile};
use varve_codec::{Compressor, EngineSetting};
use varve_docdb::{Database, DatabaseOptions, Edit, Mode};
use varve_revlog::{ENTRY_LEN, Entry, Header, Node, Rev, chunk};

fn options(settings: &[&str], dictionaries: &[usize]) -> Options {
    Options {
        settings: settings.iter().map(|text| text.parse().unwrap()).collect(),
        dictionaries: dictionaries.to_vec(),
        runs: 3,
        ..Options::default()
    }
}

fn measure(
    files: Vec<(&str, Vec<u8>)>,
    paths: &[&str],
    options: &Options,
) -> Result<Measurements, BenchError> {
    let files = files.into_iter().map(|(path, bytes)| (path.into(), bytes));
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::with_files(files));
    let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
    codec::measure(&storage, &paths, options, &Silent, &Interrupt::default())
}

fn document(n: u32) -> String {
    format!("{{\"type\":\"station\",\"category\":\"gamma\",\"level\":{n},\"active\":true}}")
}

fn documents() -> Vec<u8> {
    let lines: Vec<_> = (0..4000u32)
        .map(|n| document(n.wrapping_mul(2_654_435_761)))
        .collect();
    lines.join("\n").into_bytes()
}

/// An inline revlog of full texts, each compressed with `setting`.
fn revlog(texts: &[&[u8]], setting: EngineSetting) -> Vec<u8> {
    let mut compressor = Compressor::new(setting).unwrap();
    let (mut file, mut offset) = (Vec::new(), 0);
    for (rev, text) in (0..).map(Rev).zip(texts) {
        let mut stored = Vec::new();
        chunk::pack(text, &mut compressor, &mut stored).unwrap();
        let entry = Entry {
            offset,
            flags: 0,
            stored_len: stored.len() as u32,
            raw_len: Some(text.len() as u32),
            base: Some(rev),
            link: 0,
            p1: None,
            p2: None,
            node: Node([rev.0 as u8 + 1; 20]),
        };
        let mut bytes: [u8; ENTRY_LEN] = entry.encode();
        if rev.0 == 0 {
            let header = Header {
                inline: true,
                general_delta: true,
            };
            bytes[..Header::LEN].copy_from_slice(&header.encode());
        }
        file.extend_from_slice(&bytes);
        file.extend_from_slice(&stored);
        offset += stored.len() as u64;
    }
    file
}

#[test]
fn json_lines_are_documents_and_a_dictionary_helps_them() {
    let options = options(&["none", "snappy", "deflate_6", "zstd_3"], &[4096, 1 << 30]);
    let report = measure(vec![("d/docs.jsonl", documents())], &["d"], &options).unwrap();
    assert_eq!(report.sources.len(), 1);
    assert_eq!(report.sources[0].kind, SourceKind::JsonLines);
    assert_eq!((report.chunks, report.sampled), (4000, 1));
    for row in &report.rows {
        assert_eq!((row.compress.runs().len(), row.expand.runs().len()), (3, 3));
    }
    assert_eq!(report.bytes, documents().len() as u64 - 3999);
    let [none, snappy, zlib, zstd, trained, ..] = &report.rows[..] else {
        panic!("{:?}", report.rows);
    };
    assert_eq!((none.bytes_out, none.incompressible), (none.bytes_in, 4000));
    for row in [snappy, zlib, zstd] {
        assert_eq!((row.dictionary, row.chunks), (None, 4000));
        assert!(row.bytes_out <= row.bytes_in, "{row:?}");
    }
    assert!(
        trained.dictionary.is_some_and(|len| len <= 4096),
        "{trained:?}"
    );
    assert!(
        trained.ratio() > 2.0 * zstd.ratio(),
        "{} {}",
        trained.ratio(),
        zstd.ratio()
    );
}

#[test]
fn a_repository_gives_what_its_revlogs_hold_whatever_their_codec() {
    let texts: [&[u8]; 3] = [&b"one ".repeat(100), b"", &b"two ".repeat(50)];
    let bytes = texts.iter().map(|text| text.len() as u64).sum::<u64>();
    for setting in [
        EngineSetting::ZLIB,
        EngineSetting::ZSTD,
        EngineSetting::NONE,
    ] {
        let files = vec![
            ("r/.hg/requires", b"revlogv1\n".to_vec()),
            ("r/.hg/store/00changelog.i", revlog(&texts, setting)),
            ("r/.hg/store/data/a.i", revlog(&texts, setting)),
            ("r/.hg/store/undo", b"not a revlog".to_vec()),
            ("r/working-copy", b"not looked at".to_vec()),
        ];
        let report = measure(files, &["r"], &options(&["zstd"], &[])).unwrap();
        let [source] = &report.sources[..] else {
            panic!("{:?}", report.sources)
        };
        assert_eq!(source.kind, SourceKind::Repository);
        assert_eq!((source.chunks, source.bytes), (4, 2 * bytes));
    }
}

#[test]
fn a_tree_file_gives_its_nodes() {
    let storage = MemoryStorage::default();
    let path = Path::new("tree");
    let options_of_file = varve_btree::Options {
        kind: *b"other\0\0\0",
        reducers: vec![Arc::new(NoReduction)],
        optional_trees: 0,
        setting: EngineSetting::ZSTD,
        cache: NodeCache::new(1 << 20),
    };
    let file = TreeFile::create(&storage, path, options_of_file).unwrap();
    let mut txn = file.begin().unwrap();
    let items: Vec<_> = (0..5000u32)
        .map(|n| (n.to_be_bytes(), Some([7; 20])))
        .collect();
    txn.update(0, &items).unwrap();
    txn.commit().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(storage);
    let options = options(&["snappy"], &[]);
    let report = codec::measure(
        &storage,
        &[path.into()],
        &options,
        &Silent,
        &Interrupt::default(),
    )
    .unwrap();
    assert_eq!(report.sources[0].kind, SourceKind::Database);
    let mean = report.bytes as usize / report.chunks;
    assert!(
        report.chunks > 10 && mean > 4096 && mean <= 8192,
        "{} of {mean}",
        report.chunks
    );
}

#[test]
fn a_database_gives_its_documents_and_nodes_while_it_is_open() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let path = Path::new("db.varve");
    let wanted = DatabaseOptions::new(EngineSetting::ZSTD, NodeCache::new(1 << 20));
    let database = Database::create(storage.clone(), path, &wanted).unwrap();
    let text = |n| format!("{{\"_id\":\"{n:05}\",{}", &document(n)[1..]);
    let edits = (0..500).map(|n| Edit::parse(None, text(n).as_bytes()).unwrap());
    database.update(edits.collect(), Mode::Interactive).unwrap();
    let options = options(&["snappy"], &[]);
    let report = codec::measure(
        &storage,
        &[path.into()],
        &options,
        &Silent,
        &Interrupt::default(),
    )
    .unwrap();
    let [source] = &report.sources[..] else {
        panic!("{:?}", report.sources)
    };
    assert_eq!(source.kind, SourceKind::Database);
    let bodies: usize = (0..500).map(|n| document(n).len()).sum();
    assert!(
        source.chunks > 500 && source.bytes > bodies as u64,
        "{source:?}"
    );
    database
        .update_one(
            Edit::parse(None, text(501).as_bytes()).unwrap(),
            Mode::Interactive,
        )
        .unwrap()
        .unwrap();
}

#[test]
fn plain_files_are_cut_and_too_much_is_sampled() {
    let long = vec![7; (3 << 20) + 5];
    let report = measure(
        vec![("f", long.clone())],
        &["f"],
        &options(&["zstd_1"], &[]),
    )
    .unwrap();
    assert_eq!((report.chunks, report.bytes), (4, long.len() as u64));
    assert_eq!(report.sources[0].kind, SourceKind::File);
    let few = Options {
        max_bytes: 50_000,
        ..options(&["zstd_1"], &[])
    };
    let report = measure(vec![("d.ndjson", documents())], &["d.ndjson"], &few).unwrap();
    assert!(report.sampled > 1 && report.bytes <= 50_000);
    assert_eq!(report.sources[0].chunks, 4000);
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let two = Options {
        runs: 2,
        ..Options::default()
    };
    let refused = |files, paths: &[&str], options: &Options| {
        measure(files, paths, options).unwrap_err().to_string()
    };
    let text = vec![("f", b"x".to_vec())];
    assert_eq!(
        refused(text.clone(), &["f"], &two),
        "2 runs are too few for a median; at least 3 are needed"
    );
    assert_eq!(
        refused(text, &["g"], &Options::default()),
        "g is neither a file nor a directory"
    );
    assert_eq!(
        refused(vec![("f", Vec::new())], &["f"], &Options::default()),
        "there is nothing to measure in the given paths"
    );
    let stop = Interrupt::default();
    stop.raise();
    let storage: Arc<dyn Storage> =
        Arc::new(MemoryStorage::with_files([("f".into(), b"x".to_vec())]));
    let stopped = codec::measure(&storage, &["f".into()], &Options::default(), &Silent, &stop);
    assert!(matches!(stopped, Err(BenchError::Interrupted(_))));
}

#[test]
fn the_report_has_a_row_for_every_codec() {
    let options = options(&["none", "zstd_3"], &[4096]);
    let files = [(PathBuf::from("docs.jsonl"), documents())];
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::with_files(files));
    let paths = ["docs.jsonl".into()];
    let report = codec::run(&storage, &paths, &options, &Silent, &Interrupt::default()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&report::json(&report)).unwrap();
    let rows = json["tables"]["codecs"]["rows"].as_array().unwrap();
    let names = rows
        .iter()
        .map(|row| (row["codec"].as_str(), row["dictionary"].as_str()));
    let names: Vec<_> = names
        .map(|(codec, with)| (codec.unwrap(), with.unwrap()))
        .collect();
    assert_eq!(
        names[..3],
        [("memcpy", "-"), ("none", "-"), ("zstd_3", "-")]
    );
    assert_eq!(names[3], ("zstd_3", "4 KiB"));
    assert!(rows[2]["decompress"]["runs"].as_array().unwrap().len() == 3);
    assert_eq!(json["tables"]["sources"]["rows"][0]["chunks"], 4000);
    let page = report::html(&report).unwrap();
    assert_eq!(page.matches("<svg").count(), 3);
}

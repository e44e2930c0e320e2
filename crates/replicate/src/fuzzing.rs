//! Bodies of the fuzz targets; plain tests run them over mutated inputs.

use crate::couch_file::{CouchFile, Met, content, decode_header, skip_term};
use std::io::Read;
use std::path::Path;
use varve_base::{Interrupt, MemoryStorage, OpenMode, Storage};

/// Bytes of attachments that one input may make the target read; streams of a hostile file may repeat.
const MOST_READ: u64 = 1 << 20;

/// Never panics on a term, whatever its sizes claim.
pub fn couch_term(data: &[u8]) {
    skip_term(data);
    decode_header(data);
    if let Some(content) = content(data) {
        let text = std::str::from_utf8(&content.body);
        assert!(text.is_ok_and(|text| varve_json::parse(text.as_bytes()).is_ok()));
    }
}

/// Never panics on a file, and comes to an end with everything that its newest header leads to.
pub fn couch_file(data: &[u8]) {
    let storage = MemoryStorage::default();
    let path = Path::new("f.couch");
    let made = storage.open(path, OpenMode::CreateNew);
    if made.and_then(|file| file.append(data)).is_err() {
        return;
    }
    let Ok(file) = CouchFile::open(&storage, path, &Interrupt::default()) else {
        return;
    };
    let mut contents = file.contents();
    for document in file.by_seq().chain(file.by_id()) {
        let Met::Item(document) = document else {
            continue;
        };
        document.winner();
        let infos = document
            .revisions
            .iter()
            .filter_map(|revision| revision.content);
        for content in infos.filter_map(|info| contents.read(info.body).ok()) {
            for attachment in &content.attachments {
                let mut read = Vec::new();
                let mut stream = file.stream(attachment).take(MOST_READ);
                let _ = stream.read_to_end(&mut read);
            }
        }
    }
    file.locals().for_each(drop);
    file.purges();
    let _ = (file.security(), file.is_partitioned());
}

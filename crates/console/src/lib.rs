//! Fauxton, the web console of CouchDB: its built pages as npm has them, compressed once and for all by the build.
//!
//! [`FILES`] is empty where the build could not fetch the package. The program then works as always, without a console.

#[cfg(test)]
mod package;

use std::io::{self, Read};

/// Version of the pages.
pub const VERSION: &str = env!("FAUXTON_VERSION");

/// All files, in order of their paths; none if the build had no package.
pub const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// One file of the console.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Path relative to the console: parts of letters, digits, `-`, `_` and `.`, with slashes between.
    pub path: &'static str,
    /// Value of `Content-Type`.
    pub media_type: &'static str,
    /// Bytes before compression.
    pub length: usize,
    /// Whether [`File::stored`] is gzip.
    pub is_gzip: bool,
    /// Whether the name changes with the contents, so that browsers may keep the file for good.
    pub is_versioned: bool,
    /// The same for the same contents only; letters and digits.
    pub tag: &'static str,
    /// The bytes that the program has.
    pub stored: &'static [u8],
}

impl File {
    /// Reads the file as it was before compression, holding some 32 KiB.
    pub fn plain(&self) -> impl Read + Send + use<> {
        match self.is_gzip {
            true => Plain::Packed(Box::new(flate2::read::GzDecoder::new(self.stored))),
            false => Plain::Stored(self.stored),
        }
    }
}

enum Plain {
    Stored(&'static [u8]),
    Packed(Box<flate2::read::GzDecoder<&'static [u8]>>),
}

impl Read for Plain {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Plain::Stored(rest) => rest.read(buffer),
            Plain::Packed(decoder) => decoder.read(buffer),
        }
    }
}

/// The file at a path, among files in order of their paths.
pub fn find(files: &'static [File], path: &str) -> Option<&'static File> {
    let at = files.binary_search_by(|file| file.path.cmp(path)).ok()?;
    files.get(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> Option<&'static File> {
        find(FILES, path)
    }

    #[test]
    fn every_file_is_found_and_has_its_bytes() {
        assert!(FILES.len() > 20, "the build had no package of Fauxton");
        for known in FILES {
            let found = file(known.path).unwrap();
            assert_eq!(found.tag, known.tag);
            let mut bytes = Vec::new();
            found.plain().read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes.len(), known.length, "{}", known.path);
            assert_eq!(known.is_gzip, known.stored.starts_with(&[0x1f, 0x8b]));
        }
        assert!(file("nothing").is_none() && file("").is_none());
        let licence = file("LICENSE").unwrap();
        let mut text = String::new();
        licence.plain().read_to_string(&mut text).unwrap();
        assert!(text.contains("Apache License"));
    }

    #[test]
    fn the_page_asks_for_files_that_are_there() {
        let mut page = String::new();
        let index = file("index.html").unwrap();
        index.plain().read_to_string(&mut page).unwrap();
        let links = page.split("=\"dashboard.assets/").skip(1);
        let names: Vec<&str> = links.filter_map(|rest| rest.split('"').next()).collect();
        assert!(names.len() > 4, "{names:?}");
        for name in names {
            let asked = file(&format!("dashboard.assets/{name}"));
            assert!(asked.is_some(), "{name}");
        }
    }

    #[test]
    fn scripts_and_styles_are_stored_compressed() {
        let is_text = |file: &&File| file.path.ends_with(".js") || file.path.ends_with(".css");
        let long = FILES
            .iter()
            .filter(is_text)
            .filter(|file| file.length > 2000);
        let lengths: Vec<(usize, usize)> =
            long.map(|file| (file.length, file.stored.len())).collect();
        assert!(lengths.len() >= 4, "{lengths:?}");
        for (plain, stored) in lengths {
            assert!(stored * 2 < plain, "{stored} of {plain}");
        }
    }
}

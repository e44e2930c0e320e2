//! `file_compression` as it is configured.

use super::Site;
use crate::VARVE;
use varve_testkit::varve::{Server, configure};

#[test]
fn a_bad_value_stops_the_start_with_file_line_and_key() {
    for bad in ["zstd_23", "deflate_0", "brotli", "9"] {
        let site = Site::new();
        configure(
            site.path(),
            &format!("[couchdb]\nfile_compression = {bad}\n"),
        );
        let refused = Server::try_start(VARVE, site.path()).unwrap_err();
        assert!(!refused.status.success());
        let said = &refused.printed;
        assert!(said.contains("varve.ini:4"), "{bad}: {said}");
        assert!(said.contains("file_compression"), "{bad}: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}

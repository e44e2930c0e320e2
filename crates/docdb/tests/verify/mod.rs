//! Checking whole files, damaged and not.

mod flips;
mod salvaging;
pub mod sample;

use sample::{findings, larger, small, storage_of};
use std::path::Path;
use varve_base::{Interrupt, Silent};
use varve_docdb::verify::{Verified, Watch, verify};
use varve_docdb::{ChunkForm, DocdbError};

#[test]
fn a_whole_file_has_no_findings_and_is_counted() {
    let (report, found) = findings(&storage_of(&small()), sample::PATH).unwrap();
    assert_eq!(found, []);
    let expected = Verified {
        cut_short: 0,
        is_unwritten: false,
        findings: 0,
        documents: 13,
        revisions: 60,
        bodies: 19,
        attachments: 3,
        local_documents: 2,
        purges: 1,
        chunks: report.chunks,
    };
    assert_eq!(report, expected);
    assert_eq!(report.chunks.of(ChunkForm::Delta).chunks, 2);
    let (report, found) = findings(&storage_of(&larger()), sample::PATH).unwrap();
    assert_eq!(found, []);
    assert_eq!((report.documents, report.local_documents), (1713, 2));
    assert!(
        report.chunks.of(ChunkForm::Dictionary).chunks > 1000,
        "{report:?}"
    );
}

#[test]
fn a_check_can_be_stopped() {
    let stop = Interrupt::default();
    stop.raise();
    let mut watch = Watch {
        report: &mut |finding| panic!("{finding}"),
        progress: &Silent,
        stop: &stop,
    };
    let storage = storage_of(&small());
    let stopped = verify(
        &storage,
        Path::new(sample::PATH),
        &sample::options(),
        &mut watch,
    );
    assert!(
        matches!(stopped, Err(DocdbError::Interrupted)),
        "{stopped:?}"
    );
}

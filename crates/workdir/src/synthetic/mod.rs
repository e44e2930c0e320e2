//! History made up from a description, for tests and for reports of faults.

mod built;
mod dag_text;
mod drawing;
mod drawn;

pub use built::{BuiltFiles, build_dag};
pub use dag_text::{DagStep, DagTextError, parse_dag};
pub use drawing::{Drawing, Remark};
pub use drawn::commit_drawing;

use std::collections::BTreeMap;
use varve_repo::{FileChange, FileKind};

/// A file with its content, by path; `None` for one that goes.
type FileEdits = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

fn changes(edits: &FileEdits) -> Vec<FileChange<'_>> {
    let changes = edits.iter().map(|(path, content)| match content {
        Some(content) => FileChange::Write {
            path,
            content,
            kind: FileKind::Plain,
            copied_from: None,
        },
        None => FileChange::Remove { path },
    });
    changes.collect()
}

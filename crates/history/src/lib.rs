//! A repository as a database: each changeset, name and current file is a document.
//!
//! [`synchronize`] brings a database in step with a [`varve_repo::RepoView`], from the checkpoint that the database
//! itself holds. The schema of the documents is in `docs/history.md`.

mod author;
mod changeset;
mod checkpoint;
mod current_files;
mod data_items;
mod data_versions;
mod date;
mod design;
mod differences;
mod error;
mod file_changes;
mod hunks;
mod ids;
mod labels;
mod replayed_items;
mod settings;
mod shown;
mod synchronize;
mod text;
mod writer;

pub use changeset::changeset_summary;
pub use differences::differences;
pub use error::HistoryError;
pub use ids::{CHECKPOINT, DATABASE_PREFIX, DESIGN, database_name, is_generated, repository_name};
pub use settings::HistorySettings;
pub use synchronize::{Changes, is_of_repository, synchronize};

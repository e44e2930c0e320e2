//! The json indexes that the design documents of a database define.

use parking_lot::Mutex;
use std::sync::Arc;

use varve_btree::Direction;
use varve_docdb::{AllDocsRow, IdRange, Rev, Snapshot};
use varve_views::find::JsonIndex;

use crate::Failure;

/// The definitions of one database, as they were read last.
#[derive(Debug, Default)]
pub struct Definitions {
    last: Mutex<Read>,
}

#[derive(Debug, Default)]
struct Read {
    /// The design documents that were read.
    designs: Vec<(String, Rev)>,
    indexes: Arc<Vec<JsonIndex>>,
}

impl Definitions {
    /// All json indexes, by design document.
    ///
    /// # Errors
    /// 500 if the file cannot be read.
    pub fn of(&self, snapshot: &Snapshot) -> Result<Arc<Vec<JsonIndex>>, Failure> {
        let rows = snapshot.all_docs(IdRange::DESIGN, Direction::Forward)?;
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        let designs: Vec<_> = rows
            .iter()
            .map(|row| (row.id().to_owned(), row.rev.clone()))
            .collect();
        let mut last = self.last.lock();
        if last.designs != designs {
            let mut indexes = Vec::new();
            for row in &rows {
                indexes.extend(read(snapshot, row)?);
            }
            let indexes = Arc::new(indexes);
            *last = Read { designs, indexes };
        }
        Ok(Arc::clone(&last.indexes))
    }
}

fn read(snapshot: &Snapshot, row: &AllDocsRow) -> Result<Vec<JsonIndex>, Failure> {
    let mut text = Vec::new();
    let read = snapshot.body(&row.stored, &mut text).map_err(Failure::from);
    read.map_err(|failure| failure.about(row.id(), &row.rev))?;
    let document = varve_json::parse_object(&text)?;
    Ok(JsonIndex::of_design(
        row.id(),
        &document,
        snapshot.is_partitioned(),
    ))
}

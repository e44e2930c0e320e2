//! Databases of repositories for the pages of these.

use super::HistoryDatabases;
use crate::couch::KnownIndex;
use crate::couch::database::registry::OpenDatabase;
use crate::hg::{Remark, RepositoryDatabases, Statistics};
use crate::{CouchContext, Failure};
use std::ops::Bound;
use std::sync::{Arc, Weak};
use varve_btree::Direction;
use varve_docdb::IdRange;
use varve_history::{DESIGN, database_name};
use varve_json::{Object, Value};
use varve_repo::Node;

/// Documents about one changeset that are shown.
const MOST_REMARKS: usize = 200;
/// Characters of a document's text that are shown.
const LONGEST_TEXT: usize = 4_000;
/// Groups of a view that are read.
const MOST_GROUPS: usize = 20_000;
/// Authors and paths that are shown.
const MOST_ROWS: usize = 20;

/// The databases as pages see them. These know the repositories, which hold this value, so that it must not keep them.
#[derive(Debug)]
pub(super) struct PageDatabases(pub(super) Weak<HistoryDatabases>);

impl PageDatabases {
    /// The database of a repository, if it follows that.
    fn open(&self, repository: &str) -> Result<Option<Opened>, Failure> {
        let Some(databases) = self.0.upgrade() else {
            return Ok(None);
        };
        let app = Arc::clone(&databases.couch);
        let database = app.databases.get(&database_name(repository))?;
        Ok(database.is_history().then_some((app, database)))
    }
}

type Opened = (Arc<CouchContext>, Arc<OpenDatabase>);

impl RepositoryDatabases for PageDatabases {
    fn is_database(&self, repository: &str) -> bool {
        self.0.upgrade().is_some_and(|databases| {
            let known = databases.known.lock();
            known
                .get(repository)
                .is_some_and(|known| known.has_database)
        })
    }

    fn update_seq(&self, repository: &str) -> Result<u64, Failure> {
        let opened = self.open(repository)?;
        Ok(opened.map_or(0, |(_, database)| {
            database.documents.snapshot().update_seq()
        }))
    }

    fn remarks(&self, repository: &str, node: &Node) -> Result<Vec<Remark>, Failure> {
        let Some((_, database)) = self.open(repository)? else {
            return Ok(Vec::new());
        };
        let snapshot = database.documents.snapshot();
        // A colon is followed by a semicolon.
        let (low, high) = (format!("{node}:"), format!("{node};"));
        let ids = IdRange {
            low: Bound::Included(&low),
            high: Bound::Excluded(&high),
        };
        let mut found = Vec::new();
        let mut body = Vec::new();
        for row in snapshot
            .all_docs(ids, Direction::Forward)?
            .take(MOST_REMARKS)
        {
            body.clear();
            snapshot.body(&row?.stored, &mut body)?;
            found.push(remark(&varve_json::parse_object(&body)?));
        }
        Ok(found)
    }

    fn statistics(&self, repository: &str) -> Result<Option<Statistics>, Failure> {
        let Some((app, database)) = self.open(repository)? else {
            return Ok(None);
        };
        let Some(index) = KnownIndex::open(&app, &database, DESIGN)? else {
            return Ok(None);
        };
        let groups = |view, level| index.groups(view, level, MOST_GROUPS);
        Ok(Some(Statistics {
            months: months(&groups("by_date", 2)?),
            authors: authors(&groups("by_author", 1)?),
            churn: churn(&groups("churn", 1)?),
            pending: index.pending()?,
        }))
    }

    fn counted_seq(&self, repository: &str) -> Result<Option<u64>, Failure> {
        let Some((app, database)) = self.open(repository)? else {
            return Ok(None);
        };
        match KnownIndex::open(&app, &database, DESIGN)? {
            Some(index) if index.pending()? == 0 => Ok(Some(index.update_seq())),
            _ => Ok(None),
        }
    }
}

/// The members of a document that are shown; those of other types are left out.
fn remark(document: &Object) -> Remark {
    let text = |name: &str| {
        let text = document.get(name).and_then(Value::as_str);
        let text = text.unwrap_or_default().chars();
        text.take(LONGEST_TEXT).collect::<String>()
    };
    let is_link = |url: &String| url.starts_with("https://") || url.starts_with("http://");
    Remark {
        kind: text("type"),
        author: text("author"),
        date: text("date"),
        state: text("state"),
        text: text("text"),
        url: Some(text("url")).filter(is_link),
        path: Some(text("path")).filter(|path| !path.is_empty()),
        line: document.get("line").and_then(Value::as_u64),
    }
}

fn item(key: &Value, at: usize) -> Option<&Value> {
    key.as_array()?.get(at)
}

fn months(groups: &[(Value, Value)]) -> Vec<(i64, u64, u64)> {
    let month = |(key, count): &(Value, Value)| {
        Some((
            item(key, 0)?.as_i64()?,
            item(key, 1)?.as_u64()?,
            count.as_u64()?,
        ))
    };
    groups.iter().filter_map(month).collect()
}

fn authors(groups: &[(Value, Value)]) -> Vec<(String, u64)> {
    let author = |(key, count): &(Value, Value)| {
        let name = item(key, 0)?.as_str()?.to_owned();
        Some((name, count.as_u64()?))
    };
    let mut authors: Vec<_> = groups.iter().filter_map(author).collect();
    authors.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    authors.truncate(MOST_ROWS);
    authors
}

fn churn(groups: &[(Value, Value)]) -> Vec<(String, u64, u64)> {
    let file = |(key, lines): &(Value, Value)| {
        let path = item(key, 0)?.as_str()?.to_owned();
        Some((path, item(lines, 0)?.as_u64()?, item(lines, 1)?.as_u64()?))
    };
    let mut files: Vec<_> = groups.iter().filter_map(file).collect();
    files.sort_by_key(|(_, added, removed)| std::cmp::Reverse(added + removed));
    files.truncate(MOST_ROWS);
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(rows: &[(&str, &str)]) -> Vec<(Value, Value)> {
        let parse = |text: &str| varve_json::parse(text.as_bytes()).unwrap();
        let rows = rows.iter();
        rows.map(|(key, value)| (parse(key), parse(value)))
            .collect()
    }

    #[test]
    fn documents_of_people_may_hold_anything() {
        let document = |text: &str| varve_json::parse_object(text.as_bytes()).unwrap();
        let shown = remark(&document(
            r#"{"type": "build", "state": "passed", "url": "https://ci.example/1", "line": 3, "path": "a/b"}"#,
        ));
        assert_eq!(
            (&*shown.kind, &*shown.state, shown.line),
            ("build", "passed", Some(3))
        );
        assert_eq!(shown.url.as_deref(), Some("https://ci.example/1"));
        let odd = remark(&document(
            r#"{"type": 1, "state": {}, "url": "javascript:alert(1)", "line": -1, "path": "", "text": null}"#,
        ));
        assert_eq!(odd, Remark::default());
        let long = format!(r#"{{"text": "{}"}}"#, "é".repeat(LONGEST_TEXT + 1));
        assert_eq!(remark(&document(&long)).text.chars().count(), LONGEST_TEXT);
    }

    #[test]
    fn rows_of_views_become_counts() {
        let found = months(&parsed(&[
            ("[2024, 3]", "5"),
            ("[null]", "1"),
            ("[-1, 12]", "2"),
        ]));
        assert_eq!(found, [(2024, 3, 5), (-1, 12, 2)]);
        let found = authors(&parsed(&[
            ("[\"a\"]", "1"),
            ("[\"b\"]", "9"),
            ("null", "7"),
        ]));
        assert_eq!(found, [("b".to_owned(), 9), ("a".to_owned(), 1)]);
        let found = churn(&parsed(&[
            ("[\"x\"]", "[1, 2]"),
            ("[\"y\"]", "[5, 0]"),
            ("[\"z\"]", "3"),
        ]));
        assert_eq!(found, [("y".to_owned(), 5, 0), ("x".to_owned(), 1, 2)]);
    }
}

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
        let (mut months, mut authors, mut churn) = (Vec::new(), TopRows::new(), TopRows::new());
        index.each_group("by_date", 2, |key, count| months.extend(month(key, count)))?;
        index.each_group("by_author", 1, |key, count| authors.add(author(key, count)))?;
        index.each_group("churn", 1, |key, lines| churn.add(changed_file(key, lines)))?;
        Ok(Some(Statistics {
            months,
            authors: authors.sorted(),
            churn: churn.sorted(),
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

fn month(key: &Value, count: &Value) -> Option<(i64, u64, u64)> {
    Some((
        item(key, 0)?.as_i64()?,
        item(key, 1)?.as_u64()?,
        count.as_u64()?,
    ))
}

/// The row of an author, and what it is sorted by.
fn author(key: &Value, count: &Value) -> Option<(u64, (String, u64))> {
    let count = count.as_u64()?;
    Some((count, (item(key, 0)?.as_str()?.to_owned(), count)))
}

/// The row of a file with added and removed lines, and what it is sorted by.
fn changed_file(key: &Value, lines: &Value) -> Option<(u64, (String, u64, u64))> {
    let path = item(key, 0)?.as_str()?.to_owned();
    let (added, removed) = (item(lines, 0)?.as_u64()?, item(lines, 1)?.as_u64()?);
    Some((added.saturating_add(removed), (path, added, removed)))
}

/// Keeps the [`MOST_ROWS`] rows with the greatest numbers of any number that come; of equal ones the first.
struct TopRows<T> {
    rows: Vec<(u64, T)>,
}

impl<T> TopRows<T> {
    fn new() -> TopRows<T> {
        TopRows { rows: Vec::new() }
    }

    fn add(&mut self, row: Option<(u64, T)>) {
        self.rows.extend(row);
        if self.rows.len() == 8 * MOST_ROWS {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.rows
            .sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        self.rows.truncate(MOST_ROWS);
    }

    fn sorted(mut self) -> Vec<T> {
        self.sort();
        self.rows.into_iter().map(|(_, row)| row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows that are made of the keys and values of groups.
    fn made<T>(groups: &[(&str, &str)], make: fn(&Value, &Value) -> Option<T>) -> Vec<T> {
        let parse = |text: &str| varve_json::parse(text.as_bytes()).unwrap();
        let groups = groups.iter();
        groups
            .filter_map(|(key, value)| make(&parse(key), &parse(value)))
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
    fn groups_of_views_become_rows() {
        let found = made(
            &[("[2024, 3]", "5"), ("[null]", "1"), ("[-1, 12]", "2")],
            month,
        );
        assert_eq!(found, [(2024, 3, 5), (-1, 12, 2)]);
        let found = made(&[("[\"a\"]", "1"), ("null", "7")], author);
        assert_eq!(found, [(1, ("a".to_owned(), 1))]);
        let found = made(&[("[\"y\"]", "[5, 2]"), ("[\"z\"]", "3")], changed_file);
        assert_eq!(found, [(7, ("y".to_owned(), 5, 2))]);
    }

    #[test]
    fn the_greatest_of_many_rows_are_kept_in_order() {
        let mut top = TopRows::new();
        // Each number twice; a row behind all others is the greatest.
        let numbers = (0..100_000_u64).map(|number| (number * 7_919) % 50_000);
        for (at, number) in numbers.chain([60_000]).enumerate() {
            top.add(Some((number, (number, at < 50_000))));
        }
        let found = top.sorted();
        assert_eq!(found[0], (60_000, false));
        let expected = (0..MOST_ROWS as u64 - 1).map(|n| (49_999 - n / 2, n % 2 == 0));
        assert!(found[1..].iter().copied().eq(expected), "{found:?}");
    }
}

//! Unreadable bodies and attachments are copied as they stand, and named.

use crate::{DocdbError, Snapshot};
use std::collections::BTreeSet;
use std::fmt;

/// So many documents are remembered by their names.
const MOST: usize = 1000;
/// So many of them are shown.
const SHOWN: usize = 10;
/// The security object's name.
pub(super) const SECURITY: &str = "_security";

/// Documents of which a compaction could not read something: a body or an attachment. The copy has the same bytes, so their readers learn of the damage as before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unreadable {
    ids: BTreeSet<String>,
    has_more: bool,
}

impl Unreadable {
    /// Whether everything could be read.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Names of the documents, not of all if there are very many; those of local ones begin with
    /// `_local/`, and `_security` is the security object.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.ids.iter().map(String::as_str)
    }

    pub(super) fn add(&mut self, id: &str) {
        if self.ids.contains(id) {
            return;
        }
        match self.ids.len() < MOST {
            true => drop(self.ids.insert(id.to_owned())),
            false => self.has_more = true,
        }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = if self.has_more { "more than " } else { "" };
        let ending = if self.ids.len() == 1 { "" } else { "s" };
        write!(f, "{more}{} document{ending}: ", self.ids.len())?;
        for (number, id) in self.ids.iter().take(SHOWN).enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            write!(f, "{comma}{id:?}")?;
        }
        match self.ids.len() > SHOWN {
            true => f.write_str(", …"),
            false => Ok(()),
        }
    }
}

/// A document of the file that is copied.
#[derive(Clone, Copy)]
pub(super) struct ReadableSource<'s> {
    pub(super) from: &'s Snapshot,
    /// As [`Unreadable::ids`] gives it.
    pub(super) id: &'s str,
}

/// The result of a read; `None` if its bytes are damaged.
pub(super) fn readable<T>(read: Result<T, DocdbError>) -> Result<Option<T>, DocdbError> {
    match read {
        Err(error) if error.is_damage() => Ok(None),
        other => other.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ones_are_shown() {
        let mut found = Unreadable::default();
        for id in ["b", "a\"", "b"] {
            found.add(id);
        }
        assert_eq!(found.to_string(), r#"2 documents: "a\"", "b""#);
        for number in 0..998 {
            found.add(&format!("c{number:03}"));
        }
        let all = found.to_string();
        assert!(all.starts_with("1000 documents: "), "{all}");
        assert!(all.ends_with(r#", "c007", …"#), "{all}");
        found.add("c997");
        assert_eq!(found.to_string(), all);
        found.add("c998");
        assert_eq!(found.to_string(), format!("more than {all}"));
        assert_eq!(found.ids().count(), 1000);
    }
}

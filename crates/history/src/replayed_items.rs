//! The items of a data file while its versions are replayed.

use crate::text::text;
use sha1::{Digest, Sha1};
use std::collections::BTreeMap;
use varve_json::{Object, Value};

/// A document of an item, as far as it has to be known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KnownItem {
    /// Of the JSON text of its value.
    digest: [u8; 20],
    /// The changeset that brought this value.
    changeset: Value,
}

impl KnownItem {
    pub(crate) fn new(value: &Value, changeset: Value) -> KnownItem {
        let digest = Sha1::digest(varve_json::to_string(value)).into();
        KnownItem { digest, changeset }
    }
}

/// The items of a file up to a version.
#[derive(Default)]
pub(crate) struct ReplayedItems {
    pub(crate) known: BTreeMap<String, KnownItem>,
    /// The values of the last version that could be read.
    values: BTreeMap<String, Value>,
}

impl ReplayedItems {
    /// Takes the values of the next version; returns the names that changed, and whether they are still there.
    pub(crate) fn lead_to(
        &mut self,
        values: BTreeMap<String, Value>,
        changeset: &Value,
    ) -> Vec<(String, bool)> {
        let mut changed = Vec::new();
        self.known.retain(|name, _| {
            let is_there = values.contains_key(name);
            if !is_there {
                changed.push((name.clone(), false));
            }
            is_there
        });
        for (name, value) in &values {
            let item = KnownItem::new(value, changeset.clone());
            let before = self.known.get(name);
            if before.is_none_or(|before| before.digest != item.digest) {
                self.known.insert(name.clone(), item);
                changed.push((name.clone(), true));
            }
        }
        self.values = values;
        changed
    }

    /// The document of an item that is there.
    pub(crate) fn document(&self, path: &[u8], name: &str) -> Option<Object> {
        let (known, value) = (self.known.get(name)?, self.values.get(name)?);
        let mut document = Object::new();
        document.insert("type", "item");
        document.insert("path", text(path));
        document.insert("name", name);
        document.insert("changeset", known.changeset.clone());
        document.insert("value", value.clone());
        Some(document)
    }
}

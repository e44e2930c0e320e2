//! Many conditions on one value: long objects are looked into by name, and values are brought into
//! their sorting form once, so that the cost is that of the value and of the conditions, not of
//! one times the other.

use super::condition::key_of;
use super::node::Fields;
use super::path::{FieldPath, PathLookup};
use std::cell::RefCell;
use std::collections::HashMap;
use varve_json::{Object, Value};

/// In shorter objects members are compared one after the other.
const LONG: usize = 16;

/// A value that many conditions are asked of.
pub(crate) struct Indexed<'v> {
    value: &'v Value,
    /// Members of the long objects that were looked into, by the object's place in memory.
    members: RefCell<HashMap<*const Object, HashMap<&'v str, &'v Value>>>,
    /// Sort keys of the values that were compared, by place.
    keys: RefCell<HashMap<*const Value, Vec<u8>>>,
}

impl<'v> Indexed<'v> {
    pub(crate) fn new(value: &'v Value) -> Self {
        Indexed {
            value,
            members: RefCell::default(),
            keys: RefCell::default(),
        }
    }

    fn member(&self, object: &'v Object, name: &str) -> Option<&'v Value> {
        if object.len() <= LONG {
            return object.get(name);
        }
        let mut known = self.members.borrow_mut();
        let members = known
            .entry(object)
            .or_insert_with(|| object.iter().collect());
        members.get(name).copied()
    }
}

impl Fields for Indexed<'_> {
    fn find(&self, path: &FieldPath) -> PathLookup<'_> {
        path.find_by(self.value, |object, name| self.member(object, name))
    }

    fn with_key<T>(&self, value: &Value, then: impl FnOnce(&[u8]) -> T) -> T {
        let mut known = self.keys.borrow_mut();
        then(known.entry(value).or_insert_with(|| key_of(value)))
    }
}

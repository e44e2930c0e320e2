//! An object: named values in order, each name once.

use crate::Value;
use std::collections::HashSet;

/// Up to this many members, names are compared pairwise; above, through a hash set.
const PAIRWISE: usize = 16;

/// Named values in the order in which they were written; no name twice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    members: Vec<(String, Value)>,
}

impl Object {
    /// An empty object.
    pub fn new() -> Self {
        Object::default()
    }

    /// Takes members as read; of a repeated name the last one stays, where it stands.
    pub(crate) fn from_members(mut members: Vec<(String, Value)>) -> Self {
        if has_repeated_name(&members) {
            let mut seen = HashSet::new();
            let mut last: Vec<bool> = members
                .iter()
                .rev()
                .map(|(name, _)| seen.insert(name.as_str()))
                .collect();
            drop(seen);
            members.retain(|_| last.pop().unwrap_or(true));
        }
        Object { members }
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The member of that name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let found = self.members.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value)
    }

    /// The member of that name, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        let found = self.members.iter_mut().find(|(n, _)| n == name);
        found.map(|(_, value)| value)
    }

    /// Whether there is a member of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets a member where it stands, or adds it at the end.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        let (name, value) = (name.into(), value.into());
        match self.get_mut(&name) {
            Some(old) => *old = value,
            None => self.members.push((name, value)),
        }
    }

    /// Takes a member out.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.members.iter().position(|(n, _)| n == name)?;
        Some(self.members.remove(at).1)
    }

    /// Takes out the members whose names `wanted` approves, in order.
    pub fn extract(&mut self, mut wanted: impl FnMut(&str) -> bool) -> Vec<(String, Value)> {
        self.members
            .extract_if(.., |(name, _)| wanted(name))
            .collect()
    }

    /// Keeps the members that `keep` approves.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &Value) -> bool) {
        self.members.retain(|(name, value)| keep(name, value));
    }

    /// The members in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Value)> + ExactSizeIterator {
        self.members
            .iter()
            .map(|(name, value)| (name.as_str(), value))
    }

    pub(crate) fn members(&self) -> &[(String, Value)] {
        &self.members
    }
}

/// Whether two members have one name.
pub(crate) fn has_repeated_name(members: &[(String, Value)]) -> bool {
    if members.len() > PAIRWISE {
        let mut seen = HashSet::with_capacity(members.len());
        return !members.iter().all(|(name, _)| seen.insert(name.as_str()));
    }
    (1..members.len()).any(|i| members[..i].iter().any(|(name, _)| *name == members[i].0))
}

impl FromIterator<(String, Value)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(members: I) -> Self {
        Object::from_members(members.into_iter().collect())
    }
}

impl IntoIterator for Object {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_repeated_name_the_last_member_stays_where_it_is() {
        for filler in [0, 40] {
            let mut members = vec![("a".to_owned(), Value::from(1i64))];
            members.extend((0..filler).map(|i| (format!("f{i}"), Value::Null)));
            members.push(("b".to_owned(), Value::from(2i64)));
            members.push(("a".to_owned(), Value::from(3i64)));
            let object = Object::from_members(members);
            assert_eq!(object.len(), filler + 2);
            let last = object.iter().next_back();
            assert_eq!(last, Some(("a", &Value::from(3i64))));
        }
    }
}

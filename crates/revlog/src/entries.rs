//! The bytes of entries, which several readers share while one of them adds more.

use crate::entry::ENTRY_LEN;
use std::sync::Arc;

/// Entries without anything between them, [`ENTRY_LEN`] bytes each.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    /// As they were read.
    read: Arc<Vec<u8>>,
    /// Those that were added since.
    added: Vec<u8>,
}

impl Entries {
    /// Takes whole entries.
    pub fn new(bytes: Vec<u8>) -> Entries {
        debug_assert!(bytes.len().is_multiple_of(ENTRY_LEN));
        Entries {
            read: Arc::new(bytes),
            added: Vec::new(),
        }
    }

    /// The same once more.
    pub fn share(&self) -> Entries {
        if self.added.is_empty() {
            let read = Arc::clone(&self.read);
            return Entries {
                read,
                added: Vec::new(),
            };
        }
        Entries::new([&self.read[..], &self.added].concat())
    }

    pub fn len(&self) -> usize {
        (self.read.len() + self.added.len()) / ENTRY_LEN
    }

    /// Entry `number`, which must be there.
    pub fn get(&self, number: usize) -> &[u8; ENTRY_LEN] {
        let read = self.read.as_chunks().0;
        match read.get(number) {
            Some(entry) => entry,
            None => &self.added.as_chunks().0[number - read.len()],
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8; ENTRY_LEN]> {
        let (read, added) = (self.read.as_chunks().0, self.added.as_chunks().0);
        read.iter().chain(added)
    }

    pub fn push(&mut self, entry: &[u8; ENTRY_LEN]) {
        self.added.extend_from_slice(entry);
    }

    /// Forgets all but the first `kept` entries.
    pub fn truncate(&mut self, kept: usize) {
        let kept = kept.saturating_mul(ENTRY_LEN);
        self.added.truncate(kept.saturating_sub(self.read.len()));
        if kept < self.read.len() {
            self.read = Arc::new(self.read[..kept].to_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(numbers: std::ops::Range<u8>) -> Vec<[u8; ENTRY_LEN]> {
        numbers.map(|number| [number; ENTRY_LEN]).collect()
    }

    #[test]
    fn what_one_adds_or_forgets_others_do_not_see() {
        let mut one = Entries::new(numbered(0..5).concat());
        let mut other = one.share();
        for entry in numbered(5..8) {
            one.push(&entry);
        }
        other.truncate(3);
        let third = one.share();
        one.truncate(6);
        for (entries, len) in [(&one, 6), (&other, 3), (&third, 8)] {
            assert_eq!(entries.len(), usize::from(len));
            assert!(entries.iter().eq(&numbered(0..len)));
            assert_eq!(entries.get(usize::from(len - 1))[0], len - 1);
        }
        other.truncate(9);
        assert_eq!(other.len(), 3);
    }
}

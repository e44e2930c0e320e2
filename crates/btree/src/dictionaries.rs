//! The dictionaries of one open file, by their numbers.
//!
//! The callers know where they stand in the file, and add a dictionary before they read a chunk that needs it.

use parking_lot::RwLock;
use varve_codec::Dictionary;

/// Dictionaries of an open file, shared by its readers and its writer; they are added, never removed.
#[derive(Debug, Default)]
pub(crate) struct Dictionaries(RwLock<Vec<Dictionary>>);

impl Dictionaries {
    pub(crate) fn get(&self, number: u32) -> Option<Dictionary> {
        let known = self.0.read();
        known.iter().find(|it| it.number() == number).cloned()
    }

    /// Adds a dictionary, unless one of this number is there.
    pub(crate) fn add(&self, dictionary: &Dictionary) {
        let mut known = self.0.write();
        if known.iter().all(|it| it.number() != dictionary.number()) {
            known.push(dictionary.clone());
        }
    }
}

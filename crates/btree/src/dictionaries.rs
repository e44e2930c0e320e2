//! The dictionaries of one open file, by their numbers.
//!
//! Where they stand in the file is known to those who use it; they tell, before they read a chunk
//! that needs one.

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

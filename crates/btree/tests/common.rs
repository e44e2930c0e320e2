//! Helpers of several tests.

use std::path::Path;
use std::sync::Arc;
use varve_base::Storage;
use varve_btree::{NoReduction, NodeCache, Options, Reducer, TreeFile};
use varve_codec::EngineSetting;

pub const PATH: &str = "tree";

/// Sums the lengths of all values: wrong as soon as one item is missed or met twice.
pub struct SumOfLengths;

impl Reducer for SumOfLengths {
    fn leaf(&self, items: &mut dyn Iterator<Item = (&[u8], &[u8])>) -> Vec<u8> {
        number(items.map(|(_, value)| value.len() as u64).sum())
    }

    fn combine(&self, parts: &[&[u8]]) -> Vec<u8> {
        number(parts.iter().map(|part| read_number(part)).sum())
    }
}

pub fn number(value: u64) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

pub fn read_number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap())
}

/// Two trees; the first has [`SumOfLengths`].
pub fn options(setting: EngineSetting) -> Options {
    Options {
        kind: *b"testing\0",
        reducers: vec![Arc::new(SumOfLengths), Arc::new(NoReduction)],
        optional_trees: 0,
        setting,
        cache: NodeCache::new(4 << 20),
    }
}

pub fn create(storage: &dyn Storage) -> TreeFile {
    TreeFile::create(storage, Path::new(PATH), options(EngineSetting::SNAPPY)).unwrap()
}

pub fn open(storage: &dyn Storage) -> TreeFile {
    TreeFile::open(storage, Path::new(PATH), options(EngineSetting::SNAPPY)).unwrap()
}

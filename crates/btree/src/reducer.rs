//! Summaries in inner nodes of the items below them.

/// Summaries of a tree's items. Counting needs none: nodes always carry counts.
///
/// A summary of no items is `combine(&[])`. Results must not depend on how items are grouped.
pub trait Reducer: Send + Sync {
    /// The summary of some neighbouring items, each key with its value, in order.
    fn leaf(&self, items: &mut dyn Iterator<Item = (&[u8], &[u8])>) -> Vec<u8>;
    /// The summary of summaries, in order.
    fn combine(&self, parts: &[&[u8]]) -> Vec<u8>;
    /// The result of a query, from the summary of all its items; no node has it. `part` is the position of the
    /// reduction that is asked, where a summary holds those of several.
    fn finish(&self, summary: Vec<u8>, _part: usize) -> Vec<u8> {
        summary
    }
}

/// For trees that need counts only.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoReduction;

impl Reducer for NoReduction {
    fn leaf(&self, _items: &mut dyn Iterator<Item = (&[u8], &[u8])>) -> Vec<u8> {
        Vec::new()
    }

    fn combine(&self, _parts: &[&[u8]]) -> Vec<u8> {
        Vec::new()
    }
}

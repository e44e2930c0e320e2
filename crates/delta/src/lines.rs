//! Texts as sequences of numbers, one per different line, so that lines compare in one step.

use memchr::memchr_iter;
use std::collections::HashMap;
use std::ops::Range;

/// The lines of two texts.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub a: Vec<u32>,
    pub b: Vec<u32>,
    /// Where each line begins, and the end of the last one.
    a_starts: Vec<usize>,
    b_starts: Vec<usize>,
    /// How many different lines there are.
    pub different: usize,
}

impl Lines {
    pub fn new(a: &[u8], b: &[u8]) -> Lines {
        let mut numbers = HashMap::new();
        let (a, a_starts) = number(a, &mut numbers);
        let (b, b_starts) = number(b, &mut numbers);
        Lines {
            a,
            b,
            a_starts,
            b_starts,
            different: numbers.len(),
        }
    }

    /// Bytes of some lines of the first text.
    pub fn a_bytes(&self, lines: Range<usize>) -> Range<usize> {
        self.a_starts[lines.start]..self.a_starts[lines.end]
    }

    /// Bytes of some lines of the second text.
    pub fn b_bytes(&self, lines: Range<usize>) -> Range<usize> {
        self.b_starts[lines.start]..self.b_starts[lines.end]
    }
}

fn number<'t>(text: &'t [u8], numbers: &mut HashMap<&'t [u8], u32>) -> (Vec<u32>, Vec<usize>) {
    let (mut lines, mut starts, mut start) = (Vec::new(), vec![0], 0);
    let ends = memchr_iter(b'\n', text).map(|newline| newline + 1);
    let unended = (!text.ends_with(b"\n") && !text.is_empty()).then_some(text.len());
    for end in ends.chain(unended) {
        let next = numbers.len() as u32;
        lines.push(*numbers.entry(&text[start..end]).or_insert(next));
        starts.push(end);
        start = end;
    }
    (lines, starts)
}

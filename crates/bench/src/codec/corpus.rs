//! The chunks to measure, one behind the other in memory.

/// All chunks, or an even sample of them if they are too many: whenever they pass the limit,
/// every second one is dropped, and from then on twice as many are passed over.
pub(super) struct Corpus {
    bytes: Vec<u8>,
    /// Where each chunk ends; it begins where the one before ends.
    ends: Vec<usize>,
    limit: usize,
    stride: u64,
    seen: u64,
}

impl Corpus {
    pub(super) fn new(limit: usize) -> Self {
        Corpus {
            bytes: Vec::new(),
            ends: Vec::new(),
            limit,
            stride: 1,
            seen: 0,
        }
    }

    /// Adds a chunk. An empty one is nothing to compress.
    pub(super) fn push(&mut self, chunk: &[u8]) {
        if chunk.is_empty() {
            return;
        }
        if self.seen.is_multiple_of(self.stride) {
            self.bytes.extend_from_slice(chunk);
            self.ends.push(self.bytes.len());
        }
        self.seen += 1;
        while self.bytes.len() > self.limit && self.ends.len() > 1 {
            self.halve();
        }
    }

    /// Keeps the chunks whose numbers are multiples of the doubled stride.
    fn halve(&mut self) {
        let (mut start, mut kept_bytes, mut kept) = (0, 0, 0);
        for index in 0..self.ends.len() {
            let end = self.ends[index];
            if index % 2 == 0 {
                self.bytes.copy_within(start..end, kept_bytes);
                kept_bytes += end - start;
                self.ends[kept] = kept_bytes;
                kept += 1;
            }
            start = end;
        }
        self.bytes.truncate(kept_bytes);
        self.ends.truncate(kept);
        self.stride *= 2;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How many chunks are kept.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes that are kept.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// How many chunks were seen for each that is kept.
    pub(super) fn stride(&self) -> u64 {
        self.stride
    }

    /// The chunks that are kept.
    pub(super) fn chunks(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, &end)| &self.bytes[start..end])
    }

    /// A corpus of each `step`th chunk.
    pub(super) fn every(&self, step: usize) -> Corpus {
        let mut some = Corpus::new(usize::MAX);
        self.chunks()
            .step_by(step.max(1))
            .for_each(|chunk| some.push(chunk));
        some
    }

    /// Copies of evenly spread chunks, of about `bytes` together at most.
    pub(super) fn sample(&self, bytes: usize) -> Vec<Vec<u8>> {
        let step = self.bytes.len().div_ceil(bytes.max(1)).max(1);
        self.chunks().step_by(step).map(<[u8]>::to_vec).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_chunks_become_an_even_sample() {
        let mut corpus = Corpus::new(1000);
        for n in 0u32..5000 {
            corpus.push(&n.to_be_bytes());
        }
        assert!(corpus.bytes() <= 1000 && corpus.bytes() > 400);
        let stride = corpus.stride() as u32;
        assert!(stride.is_power_of_two() && stride > 16, "{stride}");
        for (index, chunk) in corpus.chunks().enumerate() {
            assert_eq!(chunk, (index as u32 * stride).to_be_bytes());
        }
        assert_eq!(corpus.chunks().count(), corpus.len());
        assert!(corpus.sample(100).len() <= 25 && corpus.sample(100).len() > 10);
        let third = corpus.every(3);
        assert_eq!(third.len(), corpus.len().div_ceil(3));
        assert_eq!(third.chunks().nth(1), corpus.chunks().nth(3));
        corpus.push(b"");
        assert_eq!(corpus.chunks().filter(|chunk| chunk.is_empty()).count(), 0);
    }
}

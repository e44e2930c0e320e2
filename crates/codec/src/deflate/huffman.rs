//! Huffman codes exactly as zlib makes them, ties included.

/// Longest code of literals, lengths and distances, in bits.
pub(super) const MAX_BITS: usize = 15;

/// A code for each symbol; length 0 for symbols that do not occur.
#[derive(Clone, Debug)]
pub(super) struct Codes {
    pub(super) lens: Vec<u8>,
    /// With the first bit lowest, as they are sent.
    pub(super) bits: Vec<u16>,
    /// The highest symbol that has a code.
    pub(super) highest: usize,
}

impl Codes {
    /// The codes of these lengths.
    pub(super) fn from_lens(lens: Vec<u8>) -> Codes {
        let mut counts = [0u16; MAX_BITS + 1];
        for len in lens.iter().filter(|len| **len > 0) {
            counts[usize::from(*len)] += 1;
        }
        let mut next = [0u16; MAX_BITS + 1];
        for len in 1..=MAX_BITS {
            next[len] = (next[len - 1] + counts[len - 1]) << 1;
        }
        let assign = |len: &u8| {
            let len = usize::from(*len);
            if len == 0 {
                return 0;
            }
            let code = next[len];
            next[len] += 1;
            code.reverse_bits() >> (16 - len)
        };
        Codes {
            bits: lens.iter().map(assign).collect(),
            highest: lens.iter().rposition(|len| *len > 0).unwrap_or(0),
            lens,
        }
    }

    /// Optimal codes for these frequencies, none longer than `max_bits`. At least two symbols get a code: `frequencies`
    /// gains the missing ones.
    pub(super) fn optimal(frequencies: &mut [u32], max_bits: usize) -> Codes {
        Builder::new(frequencies).codes(max_bits)
    }
}

struct Builder {
    symbols: usize,
    highest: usize,
    frequency: Vec<u32>,
    depth: Vec<u8>,
    parent: Vec<usize>,
    /// A heap of nodes, the rarest first; place 0 is not used.
    heap: Vec<usize>,
    /// Nodes as they were taken from the heap.
    taken: Vec<usize>,
}

impl Builder {
    fn new(frequencies: &mut [u32]) -> Self {
        let symbols = frequencies.len();
        let mut heap = vec![0];
        heap.extend((0..symbols).filter(|symbol| frequencies[*symbol] > 0));
        let mut highest = heap.last().copied().filter(|_| heap.len() > 1);
        while heap.len() < 3 {
            let symbol = match highest {
                None => 0,
                Some(symbol) if symbol < 2 => symbol + 1,
                Some(_) => 0,
            };
            if highest.is_none_or(|highest| highest < 2) {
                highest = Some(symbol);
            }
            frequencies[symbol] = 1;
            heap.push(symbol);
        }
        let mut frequency = frequencies.to_vec();
        frequency.resize(2 * symbols, 0);
        Builder {
            symbols,
            highest: highest.unwrap_or(0),
            frequency,
            depth: vec![0; 2 * symbols],
            parent: vec![0; 2 * symbols],
            heap,
            taken: Vec::with_capacity(2 * symbols),
        }
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        (self.frequency[a], self.depth[a]) <= (self.frequency[b], self.depth[b])
    }

    fn sift_down(&mut self, mut place: usize) {
        let node = self.heap[place];
        let last = self.heap.len() - 1;
        let mut child = 2 * place;
        while child <= last {
            if child < last && self.is_before(self.heap[child + 1], self.heap[child]) {
                child += 1;
            }
            if self.is_before(node, self.heap[child]) {
                break;
            }
            self.heap[place] = self.heap[child];
            place = child;
            child *= 2;
        }
        self.heap[place] = node;
    }

    fn codes(mut self, max_bits: usize) -> Codes {
        for place in (1..=(self.heap.len() - 1) / 2).rev() {
            self.sift_down(place);
        }
        let mut node = self.symbols;
        loop {
            let rarest = self.heap[1];
            self.heap.swap_remove(1);
            self.sift_down(1);
            let second = self.heap[1];
            self.taken.extend([rarest, second]);
            self.frequency[node] = self.frequency[rarest] + self.frequency[second];
            self.depth[node] = self.depth[rarest].max(self.depth[second]) + 1;
            self.parent[rarest] = node;
            self.parent[second] = node;
            self.heap[1] = node;
            self.sift_down(1);
            node += 1;
            if self.heap.len() < 3 {
                break;
            }
        }
        Codes {
            highest: self.highest,
            ..Codes::from_lens(self.lens(max_bits))
        }
    }

    /// Lengths from depths; too long ones are evened out as zlib does it.
    fn lens(self, max_bits: usize) -> Vec<u8> {
        let mut len = vec![0usize; self.parent.len()];
        let mut counts = vec![0usize; max_bits + 2];
        let mut overflow = 0isize;
        for &node in self.taken.iter().rev() {
            let wanted = len[self.parent[node]] + 1;
            overflow += isize::from(wanted > max_bits);
            len[node] = wanted.min(max_bits);
            if node < self.symbols {
                counts[len[node]] += 1;
            }
        }
        if overflow > 0 {
            while overflow > 0 {
                let shorter = (1..max_bits)
                    .rev()
                    .find(|bits| counts[*bits] > 0)
                    .unwrap_or(1);
                counts[shorter] -= 1;
                counts[shorter + 1] += 2;
                counts[max_bits] -= 1;
                overflow -= 2;
            }
            let mut leaves = self.taken.iter().filter(|node| **node < self.symbols);
            for bits in (1..=max_bits).rev() {
                for node in leaves.by_ref().take(counts[bits]) {
                    len[*node] = bits;
                }
            }
        }
        // Not above 15.
        len.iter()
            .take(self.symbols)
            .map(|len| *len as u8)
            .collect()
    }
}

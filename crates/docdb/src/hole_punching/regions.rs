//! How many bytes are needed in each part of a file, and which parts become holes.

use std::ops::Range;
use varve_btree::ChunkRef;

/// As many regions as are looked at; those of longer files are larger.
const MAX_REGIONS: u64 = 1 << 22;

/// A file in regions of equal length.
#[derive(Debug)]
pub(super) struct Regions {
    size: u64,
    /// Bytes that are needed in each; more than there are where several documents need the same.
    needed: Vec<u64>,
    is_hole: Vec<bool>,
}

impl Regions {
    /// Of a file that is looked at up to `end`, in multiples of `size`.
    pub(super) fn new(size: u64, end: u64) -> Regions {
        let size = size.max(1);
        let size = size.saturating_mul(end.div_ceil(size).div_ceil(MAX_REGIONS).max(1));
        let count = usize::try_from(end / size).unwrap_or(usize::MAX);
        Regions {
            size,
            needed: vec![0; count],
            is_hole: vec![false; count],
        }
    }

    /// The regions in which a chunk stands, with how much of it stands there.
    fn of(&self, at: ChunkRef) -> impl Iterator<Item = (usize, u64)> + use<> {
        let (size, count) = (self.size, self.needed.len());
        let (start, end) = (at.offset, at.offset.saturating_add(u64::from(at.len)));
        let regions = start / size..end.div_ceil(size);
        regions.filter_map(move |region| {
            let index = usize::try_from(region)
                .ok()
                .filter(|index| *index < count)?;
            let low = start.max(region * size);
            let high = end.min((region + 1) * size);
            Some((index, high.saturating_sub(low)))
        })
    }

    /// A chunk is needed.
    pub(super) fn add_needed(&mut self, at: ChunkRef) {
        for (region, bytes) in self.of(at) {
            self.needed[region] = self.needed[region].saturating_add(bytes);
        }
    }

    /// Whether any part of a chunk is in a region that becomes a hole.
    pub(super) fn has_hole_at(&self, at: ChunkRef) -> bool {
        self.of(at).any(|(region, _)| self.is_hole[region])
    }

    /// Makes no hole where a chunk stands.
    pub(super) fn exclude(&mut self, at: ChunkRef) {
        for (region, _) in self.of(at) {
            self.is_hole[region] = false;
        }
    }

    /// Chooses the regions of which not more than half is needed. Returns `false` if a copy of everything were the
    /// better way: if as much had to be moved as could stay, or if most of the garbage stands among needed bytes.
    pub(super) fn choose(&mut self) -> bool {
        let needed = |region: usize| self.needed[region].min(self.size);
        let (mut moved, mut stays) = (0_u64, 0_u64);
        let (mut freed, mut scattered) = (0_u64, 0_u64);
        // The first one has the file's header.
        for region in 1..self.needed.len() {
            let needed = needed(region);
            self.is_hole[region] = needed <= self.size / 2;
            match self.is_hole[region] {
                true => (moved, freed) = (moved + needed, freed + self.size - needed),
                false => (stays, scattered) = (stays + needed, scattered + self.size - needed),
            }
        }
        moved <= stays && scattered <= freed
    }

    /// Ranges of the file that become holes.
    pub(super) fn holes(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let runs = self.is_hole.chunk_by(|a, b| a == b);
        let mut region = 0;
        runs.filter_map(move |run| {
            let start = region as u64 * self.size;
            region += run.len();
            run.first()
                .is_some_and(|is_hole| *is_hole)
                .then(|| start..region as u64 * self.size)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offset: u64, len: u32) -> ChunkRef {
        ChunkRef { offset, len }
    }

    #[test]
    fn regions_with_little_in_them_become_holes() {
        let mut regions = Regions::new(100, 1050);
        for chunk in [
            at(0, 64),
            at(120, 51),
            at(250, 50),
            at(395, 310),
            at(990, 90),
        ] {
            regions.add_needed(chunk);
        }
        assert_eq!(
            regions.needed,
            [64, 51, 50, 5, 100, 100, 100, 5, 0, 10],
            "the last 50 bytes are not looked at"
        );
        assert!(regions.choose());
        assert_eq!(regions.holes().collect::<Vec<_>>(), [200..400, 700..1000]);
        assert!(regions.has_hole_at(at(395, 310)) && regions.has_hole_at(at(150, 51)));
        assert!(!regions.has_hole_at(at(150, 50)) && !regions.has_hole_at(at(1000, 5000)));
        assert!(!regions.has_hole_at(at(u64::MAX - 2, 9)));
        regions.exclude(at(801, 1));
        assert_eq!(
            regions.holes().collect::<Vec<_>>(),
            [200..400, 700..800, 900..1000]
        );
    }

    #[test]
    fn a_file_of_any_length_has_a_bounded_number_of_regions() {
        for (end, count) in [
            (0, 0),
            (399, 3),
            (100 * MAX_REGIONS, MAX_REGIONS),
            (u64::MAX, MAX_REGIONS),
        ] {
            let regions = Regions::new(100, end);
            let found = regions.needed.len() as u64;
            assert!(found <= count && found >= count / 2, "{end}: {found}");
            assert_eq!(regions.size % 100, 0);
        }
        assert_eq!(Regions::new(100, 100 * MAX_REGIONS + 1).size, 200);
    }

    #[test]
    fn a_copy_is_better_where_most_is_to_be_moved_or_all_is_scattered() {
        let mut thin = Regions::new(100, 1000);
        let mut scattered = Regions::new(100, 1000);
        let mut shared = Regions::new(100, 1000);
        for region in 0..10 {
            thin.add_needed(at(region * 100, 40));
            scattered.add_needed(at(region * 100, 60));
            for _ in 0..3 {
                shared.add_needed(at(region * 100, 40));
            }
        }
        assert!(!thin.choose());
        assert!(!scattered.choose());
        // They count as full, as they might be.
        assert!(shared.choose() && shared.holes().next().is_none());
    }
}

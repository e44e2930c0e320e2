//! Counts and bytes of chunks by their form.

use varve_codec::CodecId;

/// How a chunk's content is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChunkForm {
    /// By this codec, on its own.
    Plain(CodecId),
    /// By zstd with a dictionary that the payload names.
    Dictionary,
    /// As the difference from a chunk before it.
    Delta,
}

impl ChunkForm {
    /// All forms, in the order of their numbers in a chunk's head.
    pub const ALL: [ChunkForm; 6] = [
        ChunkForm::Plain(CodecId::None),
        ChunkForm::Plain(CodecId::Snappy),
        ChunkForm::Plain(CodecId::Zlib),
        ChunkForm::Plain(CodecId::Zstd),
        ChunkForm::Dictionary,
        ChunkForm::Delta,
    ];

    /// The number in a chunk's head.
    pub(crate) fn tag(self) -> u8 {
        match self {
            ChunkForm::Plain(CodecId::None) => 0,
            ChunkForm::Plain(CodecId::Snappy) => 1,
            ChunkForm::Plain(CodecId::Zlib) => 2,
            ChunkForm::Plain(CodecId::Zstd) => 3,
            ChunkForm::Dictionary => 4,
            ChunkForm::Delta => 5,
        }
    }

    pub(crate) fn of_tag(tag: u8) -> Option<ChunkForm> {
        ChunkForm::ALL.get(usize::from(tag)).copied()
    }

    /// Name for tables.
    pub fn name(self) -> &'static str {
        match self {
            ChunkForm::Plain(CodecId::Zlib) => "deflate",
            ChunkForm::Plain(codec) => codec.name(),
            ChunkForm::Dictionary => "zstd_dictionary",
            ChunkForm::Delta => "zstd_delta",
        }
    }
}

/// Some chunks of one form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkCount {
    /// How many.
    pub chunks: u64,
    /// Their bytes as stored, with their heads.
    pub bytes: u64,
}

/// Chunks counted by their form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkStats([ChunkCount; ChunkForm::ALL.len()]);

impl ChunkStats {
    /// The chunks of one form.
    pub fn of(&self, form: ChunkForm) -> ChunkCount {
        self.0[usize::from(form.tag())]
    }

    /// Counts some more.
    pub fn add(&mut self, form: ChunkForm, more: ChunkCount) {
        let count = &mut self.0[usize::from(form.tag())];
        count.chunks = count.chunks.saturating_add(more.chunks);
        count.bytes = count.bytes.saturating_add(more.bytes);
    }

    /// Both together.
    #[must_use]
    pub fn plus(mut self, other: &ChunkStats) -> ChunkStats {
        for form in ChunkForm::ALL {
            self.add(form, other.of(form));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_has_its_number() {
        for (tag, form) in (0..).zip(ChunkForm::ALL) {
            assert_eq!(form.tag(), tag);
            assert_eq!(ChunkForm::of_tag(tag), Some(form));
        }
        assert_eq!(ChunkForm::of_tag(ChunkForm::ALL.len() as u8), None);
    }
}

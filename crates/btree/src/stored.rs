//! Chunks as they are stored, many at once: for copying them into another file.

use crate::chunk::{self, CHUNK_HEAD, ChunkRef, EncodedChunk};
use crate::pages::Pages;
use crate::readahead::ReadScope;
use crate::snapshot::Snapshot;
use crate::{ChunkForm, TreeError};
use std::fmt;
use varve_codec::{CodecId, Dictionary};

/// Chunks that stand at most so far from one another are read by one call, with the bytes between them.
const GAP: u64 = 16 << 10;
/// One call reads no more than this, unless a single chunk is longer.
const SPAN: u64 = 1 << 20;

/// A chunk with its head, checked against its checksum but not expanded.
pub struct StoredChunk<'s> {
    pages: &'s Pages,
    /// Up to where the chunk begins.
    scope: ReadScope,
    bytes: &'s [u8],
    form: ChunkForm,
}

impl fmt::Debug for StoredChunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoredChunk({} bytes)", self.bytes.len())
    }
}

impl StoredChunk<'_> {
    /// How it is compressed.
    pub fn form(&self) -> ChunkForm {
        self.form
    }

    /// The number of the dictionary that it needs.
    pub fn dictionary(&self) -> Option<u32> {
        chunk::dictionary_in(self.form, &self.bytes[CHUNK_HEAD..])
    }

    /// Length of its content, if it stands in the chunk.
    pub fn content_len(&self) -> Option<u64> {
        let payload = &self.bytes[CHUNK_HEAD..];
        match self.form {
            ChunkForm::Plain(CodecId::None) => Some(payload.len() as u64),
            ChunkForm::Plain(CodecId::Zstd) => varve_codec::content_len(payload),
            _ => None,
        }
    }

    /// Length of its content, which is expanded if it has to be.
    ///
    /// # Errors
    /// [`TreeError::Expand`].
    pub fn measure(&self) -> Result<u64, TreeError> {
        if let Some(len) = self.content_len() {
            return Ok(len);
        }
        let mut content = Vec::new();
        self.expand(&mut content)?;
        Ok(content.len() as u64)
    }

    /// The same bytes, to be appended to a file.
    pub fn to_chunk(&self) -> EncodedChunk {
        EncodedChunk::of_stored(self.bytes)
    }

    /// Appends its content to `out`.
    ///
    /// # Errors
    /// [`TreeError::Expand`].
    pub fn expand(&self, out: &mut Vec<u8>) -> Result<(), TreeError> {
        let payload = &self.bytes[CHUNK_HEAD..];
        self.pages.expand(self.form, payload, self.scope, out)
    }
}

impl Snapshot {
    /// Calls `visit` for every chunk, with its index in `places`, in the order in which they stand
    /// in the file. Neighbours are read together.
    ///
    /// # Errors
    /// Damage; an error of the storage; an error of `visit` ends the walk.
    pub fn visit_stored<E: From<TreeError>>(
        &self,
        places: &[ChunkRef],
        visit: &mut dyn FnMut(usize, StoredChunk<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_unstable_by_key(|&index| places[index]);
        for &place in places {
            self.check_place(place)?;
        }
        let mut buffer = Vec::new();
        let mut rest = &order[..];
        while let Some((&first, _)) = rest.split_first() {
            let start = places[first].offset;
            let (count, end) = span_of(places, rest);
            let (span, behind) = rest.split_at(count);
            // Places were checked to be within the file, so this is no claim.
            buffer.resize((end - start) as usize, 0);
            let file = &self.pages.file;
            file.read_exact_by(self.mode, start, &mut buffer)
                .map_err(TreeError::from)?;
            for &index in span {
                let place = places[index];
                let bytes = &buffer[(place.offset - start) as usize..][..place.len as usize];
                let (form, _) = chunk::check(bytes, (self.pages.path(), place.offset))?;
                let stored = StoredChunk {
                    pages: &self.pages,
                    scope: self.scope().upto(place.offset),
                    bytes,
                    form,
                };
                visit(index, stored)?;
            }
            rest = behind;
        }
        Ok(())
    }

    /// One chunk as it is stored.
    ///
    /// # Errors
    /// As [`Snapshot::visit_stored`].
    pub fn stored_chunk(&self, place: ChunkRef) -> Result<EncodedChunk, TreeError> {
        let mut found = None;
        self.visit_stored::<TreeError>(&[place], &mut |_, stored| {
            found = Some(stored.to_chunk());
            Ok(())
        })?;
        found.ok_or_else(|| {
            self.pages
                .damaged(place.offset, "a chunk could not be read")
        })
    }

    /// Makes a dictionary known to all readers of this file.
    pub fn add_dictionary(&self, dictionary: &Dictionary) {
        self.pages.dictionaries.add(dictionary);
    }

    /// The dictionary of this number, if it was made known.
    pub fn dictionary(&self, number: u32) -> Option<Dictionary> {
        self.pages.dictionaries.get(number)
    }

    /// Whether the two snapshots are of the same file: only then places of one mean something in the other.
    pub fn is_same_file(&self, other: &Snapshot) -> bool {
        self.pages.header.id == other.pages.header.id
    }

    /// The same, for a walk over everything: its reads do not evict cached nodes that others need.
    pub fn uncached(&self) -> Snapshot {
        Snapshot {
            pages: std::sync::Arc::new(self.pages.uncached()),
            state: self.state.clone(),
            mode: self.mode,
        }
    }

    /// The same for reading chunks about in the order in which they stand in the file: the bytes behind a chunk are
    /// read along with it. Clones share the read bytes, so they are for one thread.
    #[must_use]
    pub fn in_order(&self) -> Snapshot {
        Snapshot {
            pages: std::sync::Arc::new(self.pages.in_order()),
            state: self.state.clone(),
            mode: self.mode,
        }
    }

    pub(crate) fn check_place(&self, place: ChunkRef) -> Result<(), TreeError> {
        self.pages.check_place(place, self.state.end)
    }
}

/// How many of the chunks, which are in file order, are read together, and where they end.
fn span_of(places: &[ChunkRef], order: &[usize]) -> (usize, u64) {
    let end_of = |index: usize| places[index].offset + u64::from(places[index].len);
    let (mut count, mut end) = (0, 0);
    let start = order.first().map_or(0, |&first| places[first].offset);
    for &index in order {
        let next = end_of(index).max(end);
        let apart = places[index].offset.saturating_sub(end) > GAP;
        if count > 0 && (apart || next - start > SPAN) {
            break;
        }
        count += 1;
        end = next;
    }
    (count, end)
}

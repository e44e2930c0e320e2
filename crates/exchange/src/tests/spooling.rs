//! Bytes on their way: uploads whose length is not known, files that are sent in pieces.

use crate::sink::SinkWriter;
use crate::{ChunkSink, ExchangeError, SinkClosed, Spool, copy_file};
use proptest::collection::vec;
use proptest::prelude::*;
use std::io::{Read, Write};
use std::path::Path;
use varve_base::{MemoryStorage, OpenMode, Storage};

/// Keeps buffers as they come, and closes after so many.
struct Buffers {
    kept: Vec<Vec<u8>>,
    most: usize,
}

impl ChunkSink for Buffers {
    fn send(&mut self, bytes: Vec<u8>) -> Result<(), SinkClosed> {
        if self.kept.len() == self.most {
            return Err(SinkClosed);
        }
        self.kept.push(bytes);
        Ok(())
    }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Uploads on either side of the length from which they go to a file.
    #[test]
    fn a_spool_gives_back_what_it_took(pieces in vec(0_usize..2_000_000, 0..6), most in 1_usize..100_000) {
        let mut spool = Spool::default();
        let all = pattern(pieces.iter().sum());
        let mut rest = &all[..];
        for len in pieces {
            let (piece, behind) = rest.split_at(len);
            spool.write_all(piece).unwrap();
            rest = behind;
        }
        prop_assert_eq!(spool.len(), all.len() as u64);
        prop_assert_eq!(spool.is_empty(), all.is_empty());
        for _ in 0..2 {
            spool.rewind().unwrap();
            let (mut found, mut buffer) = (Vec::new(), vec![0; most]);
            loop {
                match spool.read(&mut buffer).unwrap() {
                    0 => break,
                    len => found.extend_from_slice(&buffer[..len]),
                }
            }
            prop_assert!(found == all);
        }
    }

    #[test]
    fn small_writes_leave_in_order_until_the_client_is_gone(
        pieces in vec(0_usize..100_000, 0..30), most in 0_usize..9,
    ) {
        let mut sink = Buffers { kept: Vec::new(), most };
        let all = pattern(pieces.iter().sum());
        let mut writer = SinkWriter::new(&mut sink);
        let (mut rest, mut is_closed) = (&all[..], false);
        for len in pieces {
            let (piece, behind) = rest.split_at(len);
            is_closed |= writer.write_all(piece).is_err();
            rest = behind;
        }
        is_closed |= writer.flush().is_err();
        let sent = sink.kept.concat();
        prop_assert!(all.starts_with(&sent) || is_closed);
        prop_assert_eq!(sent.len() == all.len(), !is_closed);
        prop_assert!(sink.kept.iter().all(|buffer| !buffer.is_empty() && buffer.len() <= 256 << 10));
    }

    #[test]
    fn a_range_of_a_file_is_sent_exactly(
        len in 0_usize..3_000_000, from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>(),
    ) {
        let storage = MemoryStorage::default();
        let file = storage.open(Path::new("f"), OpenMode::CreateNew).unwrap();
        let all = pattern(len);
        file.append(&all).unwrap();
        let (from, to) = (from.index(len + 1), to.index(len + 1));
        let (from, to) = (from.min(to), from.max(to));
        let mut sink = Vec::new();
        sink.send_file(&file, from as u64, (to - from) as u64).unwrap();
        prop_assert!(sink == all[from..to]);
        let beyond = copy_file(file.as_ref(), from as u64, (len - from) as u64 + 1, |_| Ok(()));
        prop_assert!(matches!(beyond, Err(ExchangeError::Storage(_))), "{:?}", beyond);
    }
}

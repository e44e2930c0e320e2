//! Entry points of a fuzzer; a plain test runs them over mutated inputs.

use crate::{Dictionary, DictionaryCompressor, Expander, content_len, dictionary_of};
use std::sync::OnceLock;

/// Most bytes that a payload may expand to here.
const LIMIT: usize = 10_000;
/// Base of the deltas.
const BASE: &[u8] = b"{\"text\":\"what stood there before, and what most of it still is\"}";

/// One of which payloads name the number 1.
fn dictionary() -> Option<&'static Dictionary> {
    static TRAINED: OnceLock<Option<Dictionary>> = OnceLock::new();
    let train = || {
        let samples = (0..500_u32).map(|number| {
            let mixed = number.wrapping_mul(2_654_435_761);
            format!("{{\"kind\":\"sample\",\"number\":{number},\"mixed\":\"{mixed:x}\"}}")
                .into_bytes()
        });
        let trained = Dictionary::train(&samples.collect::<Vec<_>>(), 1024).ok()?;
        trained.with_number(1).ok()
    };
    TRAINED.get_or_init(train).as_ref()
}

/// Takes the bytes for a payload of each kind, and for a dictionary; never panics.
pub fn payload(data: &[u8]) {
    let mut expander = Expander::new();
    let mut out = Vec::new();
    let _ = expander.expand_delta(BASE, data, LIMIT, &mut out);
    assert!(out.len() <= LIMIT);
    out.clear();
    let _ = (content_len(data), dictionary_of(data));
    if let Some(known) = dictionary() {
        let _ = expander.expand_with(known, data, LIMIT, &mut out);
        assert!(out.len() <= LIMIT);
    }
    let foreign = Dictionary::from_bytes(data);
    let Ok(mut compressor) = DictionaryCompressor::new(3, &foreign) else {
        return;
    };
    let mut made = Vec::new();
    if compressor.compress(BASE, &mut made).is_ok() {
        out.clear();
        if expander
            .expand_with(&foreign, &made, LIMIT, &mut out)
            .is_ok()
        {
            assert_eq!(out, BASE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DeltaCompressor;

    #[test]
    fn mutated_payloads_and_dictionaries_never_panic() {
        let known = dictionary().unwrap();
        let (mut short, mut delta) = (Vec::new(), Vec::new());
        let raw = br#"{"kind":"sample","number":7}"#;
        let mut compressor = DictionaryCompressor::new(3, known).unwrap();
        compressor.compress(raw, &mut short).unwrap();
        let edited = [&BASE[..20], b"now", &BASE[20..]].concat();
        let mut deltas = DeltaCompressor::default();
        assert!(deltas.compress(3, BASE, &edited, &mut delta).unwrap());
        for sample in [&short[..], &delta] {
            for len in 0..=sample.len() {
                payload(&sample[..len]);
            }
        }
        for sample in [&short[..], &delta, known.bytes()] {
            // Of a dictionary, its tables.
            for bit in 0..sample.len().min(160) * 8 {
                let mut damaged = sample.to_vec();
                damaged[bit / 8] ^= 1 << (bit % 8);
                payload(&damaged);
            }
        }
    }
}

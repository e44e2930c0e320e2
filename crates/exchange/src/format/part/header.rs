//! The header of a part.
//!
//! ```text
//! +-----------+------+--------+--------------+-------------+-------------------------+-----------------+
//! | u8 length | name | u32 id | u8 number of | u8 number   | per parameter:          | keys and values |
//! | of name   |      |        | mandatory    | of advisory | u8 key, u8 value length | in that order   |
//! +-----------+------+--------+--------------+-------------+-------------------------+-----------------+
//! ```
//! Mandatory parameters come before advisory ones.
//!
//! Source: Mercurial `helptext/internals/bundle2.txt`.

use super::PartType;
use crate::ExchangeError;
use std::io;

/// Key and value.
pub type PartParameter = (Vec<u8>, Vec<u8>);

/// Header of a part, which precedes its payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartHeader {
    /// The type's name, as written.
    pub name: Vec<u8>,
    /// Its number; the writer of a bundle sets it.
    pub id: u32,
    /// Parameters that must be understood, in order.
    pub mandatory: Vec<PartParameter>,
    /// Parameters that need not be.
    pub advisory: Vec<PartParameter>,
}

impl PartHeader {
    /// The header of a part that every reader must know.
    pub fn mandatory(part_type: PartType) -> PartHeader {
        PartHeader {
            name: part_type.name().to_ascii_uppercase().into_bytes(),
            ..PartHeader::default()
        }
    }

    /// The header of a part that a reader may pass over.
    pub fn advisory(part_type: PartType) -> PartHeader {
        PartHeader {
            name: part_type.name().as_bytes().to_vec(),
            ..PartHeader::default()
        }
    }

    /// Adds a parameter that must be understood.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Vec<u8>>) -> PartHeader {
        self.mandatory.push((key.as_bytes().to_vec(), value.into()));
        self
    }

    /// Adds a parameter that need not be understood.
    #[must_use]
    pub fn with_advisory(mut self, key: &str, value: impl Into<Vec<u8>>) -> PartHeader {
        self.advisory.push((key.as_bytes().to_vec(), value.into()));
        self
    }

    /// The bytes of a header, without its length.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for a name, key, value or list whose length does not fit a byte.
    pub(crate) fn encode(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![length_byte("a name", self.name.len())?];
        bytes.extend_from_slice(&self.name);
        bytes.extend_from_slice(&self.id.to_be_bytes());
        bytes.push(length_byte("a list", self.mandatory.len())?);
        bytes.push(length_byte("a list", self.advisory.len())?);
        for (key, value) in self.parameters() {
            bytes.push(length_byte("a key", key.len())?);
            bytes.push(length_byte("a value", value.len())?);
        }
        for (key, value) in self.parameters() {
            bytes.extend_from_slice(key);
            bytes.extend_from_slice(value);
        }
        Ok(bytes)
    }

    /// Decodes `bytes`, which must hold exactly one header.
    ///
    /// # Errors
    /// [`ExchangeError::DamagedBundle`] if they are cut, or longer than what they say.
    pub(crate) fn decode(bytes: &[u8]) -> Result<PartHeader, ExchangeError> {
        let damaged = |reason: &str| ExchangeError::DamagedBundle(reason.to_owned());
        let mut rest = bytes;
        let header = read(&mut rest).ok_or_else(|| damaged("the header of a part is cut"))?;
        match rest.is_empty() {
            true => Ok(header),
            false => Err(damaged("the header of a part is shorter than its length")),
        }
    }

    /// The type; `None` if it is unknown here.
    pub fn part_type(&self) -> Option<PartType> {
        PartType::named(&self.name)
    }

    /// Whether a reader that does not know the type must stop.
    pub fn is_mandatory(&self) -> bool {
        self.name.iter().any(u8::is_ascii_uppercase)
    }

    /// Number of parameters, mandatory and advisory.
    pub fn counts(&self) -> [usize; 2] {
        [self.mandatory.len(), self.advisory.len()]
    }

    /// The type's name in lower case.
    pub fn kind(&self) -> Vec<u8> {
        self.name.to_ascii_lowercase()
    }

    /// All parameters, mandatory ones first.
    pub fn parameters(&self) -> impl DoubleEndedIterator<Item = &PartParameter> {
        self.mandatory.iter().chain(&self.advisory)
    }

    /// The value of a parameter of either sort; of several the last.
    pub fn value(&self, name: &str) -> Option<&[u8]> {
        let found = self.parameters().rfind(|(key, _)| key == name.as_bytes());
        found.map(|(_, value)| &value[..])
    }

    /// The value of a parameter as text; bytes that are not UTF-8 are replaced.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let value = self.value(name)?;
        Some(String::from_utf8_lossy(value).into_owned())
    }

    /// Refuses mandatory parameters besides `known`.
    ///
    /// # Errors
    /// [`ExchangeError::UnknownBundleFeature`], which lists them.
    pub fn check_mandatory(&self, known: &[&str]) -> Result<(), ExchangeError> {
        let keys = self.mandatory.iter().map(|(key, _)| key);
        let unknown = keys.filter(|key| !known.iter().any(|known| known.as_bytes() == **key));
        let mut unknown: Vec<_> = unknown.map(|key| String::from_utf8_lossy(key)).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        unknown.sort_unstable();
        let kind = self.kind();
        let kind = String::from_utf8_lossy(&kind);
        let feature = format!("{kind} - {}", unknown.join(", "));
        Err(ExchangeError::UnknownBundleFeature(feature))
    }

    /// The error for a type that is unknown here.
    pub fn unknown(&self) -> ExchangeError {
        let kind = String::from_utf8_lossy(&self.kind()).into_owned();
        ExchangeError::UnknownBundleFeature(kind)
    }

    /// The part as Mercurial's debug output has it: name, and number of parameters. Where there are both sorts,
    /// it repeats the number of the mandatory ones.
    pub(crate) fn debug_summary(&self) -> String {
        let mut line = format!("\"{}\"", String::from_utf8_lossy(&self.kind()));
        if !self.is_mandatory() {
            line += " (advisory)";
        }
        let [mandatory, advisory] = self.counts();
        let kinds = [(mandatory, "mandatory"), (advisory, "advisory")];
        let kinds = kinds.iter().filter(|(count, _)| *count > 0);
        let kinds: String = kinds
            .map(|(_, kind)| format!(" {mandatory} {kind}"))
            .collect();
        if !kinds.is_empty() {
            line += &format!(" (params:{kinds})");
        }
        line
    }
}

fn length_byte(what: &str, len: usize) -> io::Result<u8> {
    u8::try_from(len).map_err(|_| {
        let reason = format!("{what} of {len} bytes in a bundle2 part; at most 255 fit");
        io::Error::new(io::ErrorKind::InvalidInput, reason)
    })
}

fn read(rest: &mut &[u8]) -> Option<PartHeader> {
    let name_len = take(rest, 1)?[0];
    let name = take(rest, name_len.into())?.to_vec();
    let id = u32::from_be_bytes(*take(rest, 4)?.first_chunk()?);
    let counts = take(rest, 2)?;
    let number = usize::from(counts[0]) + usize::from(counts[1]);
    let lengths = take(rest, 2 * number)?;
    let mut parameters = Vec::with_capacity(number);
    for pair in lengths.chunks_exact(2) {
        let key = take(rest, pair[0].into())?.to_vec();
        let value = take(rest, pair[1].into())?.to_vec();
        parameters.push((key, value));
    }
    let advisory = parameters.split_off(counts[0].into());
    Some(PartHeader {
        name,
        id,
        mandatory: parameters,
        advisory,
    })
}

fn take<'a>(rest: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, behind) = rest.split_at_checked(len)?;
    *rest = behind;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// From the answer of a real `hg serve` 7.2.4 to a clone of three changesets.
    const GOLDEN: &[u8] = b"\x0bCHANGEGROUP\0\0\0\0\x01\x01\x07\x02\x09\x01version03nbchanges3";

    fn golden_header() -> PartHeader {
        PartHeader::mandatory(PartType::Changegroup)
            .with("version", "03")
            .with_advisory("nbchanges", "3")
    }

    #[test]
    fn golden_header_of_a_changegroup() {
        assert_eq!(golden_header().encode().unwrap(), GOLDEN);
        let header = PartHeader::decode(GOLDEN).unwrap();
        assert_eq!(header, golden_header());
        assert_eq!(header.part_type(), Some(PartType::Changegroup));
        assert!(header.is_mandatory());
        assert_eq!(header.value("nbchanges"), Some(&b"3"[..]));
        assert_eq!(header.value("targetphase"), None);
        let summary = "\"changegroup\" (params: 1 mandatory 1 advisory)";
        assert_eq!(header.debug_summary(), summary);
        let longer = [GOLDEN, b"x"].concat();
        assert!(PartHeader::decode(&longer).is_err());
    }

    #[test]
    fn of_equal_keys_the_last_counts() {
        let header = PartHeader::advisory(PartType::Output)
            .with("a", "1")
            .with_advisory("a", "2");
        assert_eq!(header.value("a"), Some(&b"2"[..]));
        assert!(!header.is_mandatory());
    }

    #[test]
    fn unknown_mandatory_parameters_are_listed_in_order() {
        let header = golden_header().with("z", "").with("b", "");
        let refused = header.check_mandatory(&["version"]).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "unknown bundle feature, changegroup - b, z"
        );
        assert!(golden_header().check_mandatory(&["version"]).is_ok());
    }

    #[test]
    fn cut_headers_and_lengths_that_do_not_fit_are_refused() {
        for len in 0..GOLDEN.len() {
            assert!(PartHeader::decode(&GOLDEN[..len]).is_err(), "{len}");
        }
        let long = "x".repeat(256);
        let too_long = [
            PartHeader {
                name: long.clone().into_bytes(),
                ..PartHeader::default()
            },
            golden_header().with(&long, ""),
            golden_header().with_advisory("a", long.clone()),
        ];
        for header in too_long {
            assert!(header.encode().is_err());
        }
        let mut many = golden_header();
        many.advisory = vec![(Vec::new(), Vec::new()); 256];
        assert!(many.encode().is_err());
    }

    fn parameters() -> impl Strategy<Value = Vec<PartParameter>> {
        vec((vec(any::<u8>(), 0..20), vec(any::<u8>(), 0..20)), 0..8)
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes(
            name in vec(any::<u8>(), 0..30),
            id: u32,
            mandatory in parameters(),
            advisory in parameters(),
        ) {
            let header = PartHeader { name, id, mandatory, advisory };
            prop_assert_eq!(PartHeader::decode(&header.encode().unwrap()).unwrap(), header);
        }

        #[test]
        fn what_decodes_encodes_to_the_same_bytes(bytes in vec(any::<u8>(), 0..200)) {
            if let Ok(header) = PartHeader::decode(&bytes) {
                let encoded = header.encode().unwrap();
                prop_assert_eq!(&bytes[..encoded.len()], &encoded[..]);
            }
        }
    }
}

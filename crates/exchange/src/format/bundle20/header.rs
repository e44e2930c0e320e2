//! The header of a part; for its picture see [`super`].

use crate::ExchangeError;

/// What a part says of itself before its payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartHeader {
    /// What kind it is, as written.
    pub name: Vec<u8>,
    /// Its number.
    pub id: u32,
    /// Parameters that must be understood, in order.
    pub mandatory: Vec<(Vec<u8>, Vec<u8>)>,
    /// Parameters that need not be.
    pub advisory: Vec<(Vec<u8>, Vec<u8>)>,
}

impl PartHeader {
    /// Takes a header apart, which must be exactly that.
    pub(super) fn parse(bytes: &[u8]) -> Result<PartHeader, ExchangeError> {
        let header = read(bytes);
        let is_cut = || ExchangeError::DamagedBundle("the header of a part is cut".to_owned());
        header.ok_or_else(is_cut)
    }

    /// Whether who does not know this kind must stop.
    pub fn is_mandatory(&self) -> bool {
        self.name.iter().any(u8::is_ascii_uppercase)
    }

    /// How many parameters there are, those that must be understood and others.
    pub fn counts(&self) -> [usize; 2] {
        [self.mandatory.len(), self.advisory.len()]
    }

    /// The kind in small letters, which is what counts.
    pub fn kind(&self) -> Vec<u8> {
        self.name.to_ascii_lowercase()
    }

    /// The value of a parameter of either sort; of several the last.
    pub fn value(&self, name: &str) -> Option<&[u8]> {
        let mut all = self.mandatory.iter().chain(&self.advisory);
        let found = all.rfind(|(key, _)| key == name.as_bytes());
        found.map(|(_, value)| &value[..])
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

    /// That nothing here knows this kind.
    pub fn unknown(&self) -> ExchangeError {
        let kind = String::from_utf8_lossy(&self.kind()).into_owned();
        ExchangeError::UnknownBundleFeature(kind)
    }
}

fn read(bytes: &[u8]) -> Option<PartHeader> {
    let mut rest = bytes;
    let name_len = take(&mut rest, 1)?[0];
    let name = take(&mut rest, name_len.into())?.to_vec();
    let id = u32::from_be_bytes(*take(&mut rest, 4)?.first_chunk()?);
    let counts = take(&mut rest, 2)?;
    let number = usize::from(counts[0]) + usize::from(counts[1]);
    let lengths = take(&mut rest, 2 * number)?;
    let mut parameters = Vec::with_capacity(number);
    for pair in lengths.chunks_exact(2) {
        let key = take(&mut rest, pair[0].into())?.to_vec();
        let value = take(&mut rest, pair[1].into())?.to_vec();
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

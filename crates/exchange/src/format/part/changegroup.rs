//! `changegroup`: the payload is a changegroup.
//!
//! ```text
//! version      mandatory   01 02 03; 01 if it is left out
//! nbchanges    advisory    number of changesets
//! targetphase  advisory    number of the phase that new changesets get; draft if it is left out
//! ```

use super::{PartHeader, PartType};
use crate::ExchangeError;
use crate::format::changegroup::ChangegroupVersion;
use varve_repo::Phase;

/// Parameters of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChangegroupParameters {
    pub(crate) version: ChangegroupVersion,
    pub(crate) target_phase: Phase,
}

/// The header; parameters that are `None` are not written.
pub(crate) fn header(
    version: ChangegroupVersion,
    changesets: Option<usize>,
    target_phase: Option<Phase>,
) -> PartHeader {
    let mut header = PartHeader::mandatory(PartType::Changegroup).with("version", version.name());
    if let Some(count) = changesets {
        header = header.with_advisory("nbchanges", count.to_string());
    }
    if let Some(phase) = target_phase {
        header = header.with_advisory(TARGET_PHASE, phase.number().to_string());
    }
    header
}

/// Key of the phase of new changesets.
pub(crate) const TARGET_PHASE: &str = "targetphase";

/// # Errors
/// [`ExchangeError::UnknownBundleFeature`] for a version or phase that is unknown.
pub(crate) fn decode(header: &PartHeader) -> Result<ChangegroupParameters, ExchangeError> {
    let unknown = |key: &str, value: &str| {
        ExchangeError::UnknownBundleFeature(format!("changegroup - {key}='{value}'"))
    };
    let version = header.text("version");
    let version = version.as_deref().unwrap_or("01");
    let phase = header.text(TARGET_PHASE);
    let target_phase = match phase.as_deref() {
        None | Some("1") => Phase::Draft,
        Some("0") => Phase::Public,
        Some("2") => Phase::Secret,
        Some(other) => return Err(unknown(TARGET_PHASE, other)),
    };
    Ok(ChangegroupParameters {
        version: ChangegroupVersion::named(version).map_err(|_| unknown("version", version))?,
        target_phase,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_decodes() {
        for version in ChangegroupVersion::ALL {
            for phase in [Phase::Public, Phase::Draft, Phase::Secret] {
                let header = header(version, Some(3), Some(phase));
                assert!(
                    header
                        .check_mandatory(PartType::Changegroup.parameters())
                        .is_ok()
                );
                let expected = ChangegroupParameters {
                    version,
                    target_phase: phase,
                };
                assert_eq!(decode(&header).unwrap(), expected);
            }
        }
    }

    /// As `hg` 7.2.4 writes it into the backup of a secret changeset.
    #[test]
    fn golden_header_of_a_backup() {
        let header = header(ChangegroupVersion::V3, Some(1), Some(Phase::Secret));
        let expected: &[u8] = b"\x0bCHANGEGROUP\0\0\0\0\x01\x02\x07\x02\x09\x01\x0b\x01\
            version03nbchanges1targetphase2";
        assert_eq!(header.encode().unwrap(), expected);
    }

    #[test]
    fn defaults_and_unknown_values() {
        let bare = PartHeader::mandatory(PartType::Changegroup);
        let defaults = ChangegroupParameters {
            version: ChangegroupVersion::V1,
            target_phase: Phase::Draft,
        };
        assert_eq!(decode(&bare).unwrap(), defaults);
        for (key, value) in [
            ("version", "05"),
            ("version", ""),
            ("targetphase", "3"),
            ("targetphase", "-1"),
        ] {
            let refused = decode(&bare.clone().with(key, value)).unwrap_err();
            let expected = format!("unknown bundle feature, changegroup - {key}='{value}'");
            assert_eq!(refused.to_string(), expected);
        }
    }
}

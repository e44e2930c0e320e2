//! The features that `experimental.evolution` enables.

use varve_config::hgrc::{Hgrc, HgrcError, boolean};

const SECTION: &str = "experimental";

/// Whether changesets that are rewritten stay, marked as obsolete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evolution {
    /// Rewriting adds markers.
    pub markers: bool,
    /// Changesets that have children may be rewritten too.
    pub unstable: bool,
    /// Markers go from one repository to the other.
    pub exchange: bool,
    /// A changeset that was rewritten may be so again, in another way.
    pub divergence: bool,
}

impl Evolution {
    /// As configured: a list, a boolean, or one boolean per feature.
    ///
    /// # Errors
    /// A feature whose value is neither yes nor no.
    pub fn read(config: &Hgrc) -> Result<Evolution, HgrcError> {
        let words = config.list(SECTION, "evolution");
        let everything = words.iter().any(|word| word == b"all")
            || matches!(&words[..], [word] if boolean(word) == Some(true));
        let allows = |feature: &str| {
            let listed = everything || words.iter().any(|word| word == feature.as_bytes());
            config.boolean(SECTION, &format!("evolution.{feature}"), listed)
        };
        let markers = allows("createmarkers")?;
        Ok(Evolution {
            markers,
            unstable: markers && allows("allowunstable")?,
            exchange: markers && allows("exchange")?,
            divergence: config.boolean(SECTION, "evolution.allowdivergence", false)?,
        })
    }
}

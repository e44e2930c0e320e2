//! What `experimental.evolution` allows.

use super::{Abort, Session};

/// Whether changesets that are rewritten stay, marked as obsolete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Evolution {
    /// They do.
    pub(crate) markers: bool,
    /// Those that have children may be rewritten too.
    pub(crate) unstable: bool,
}

/// As configured: a list, a boolean, or one boolean per feature.
pub(crate) fn evolution(session: &Session) -> Result<Evolution, Abort> {
    const SECTION: &str = "experimental";
    let words = session.config.list(SECTION, "evolution");
    let everything = words.iter().any(|word| word == b"all")
        || matches!(&words[..], [word] if varve_config::hgrc::boolean(word) == Some(true));
    let allows = |feature: &str| {
        let listed = everything || words.iter().any(|word| word == feature.as_bytes());
        let key = format!("evolution.{feature}");
        session
            .config
            .boolean(SECTION, &key, listed)
            .map_err(Abort::Setting)
    };
    let markers = allows("createmarkers")?;
    Ok(Evolution {
        markers,
        unstable: markers && allows("allowunstable")?,
    })
}

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
    let markers = allows(session, "createmarkers")?;
    Ok(Evolution {
        markers,
        unstable: markers && allows(session, "allowunstable")?,
    })
}

/// Whether markers go from one repository to the other.
pub(crate) fn exchanges_markers(session: &Session) -> Result<bool, Abort> {
    allows(session, "exchange")
}

fn allows(session: &Session, feature: &str) -> Result<bool, Abort> {
    const SECTION: &str = "experimental";
    let words = session.config.list(SECTION, "evolution");
    let everything = words.iter().any(|word| word == b"all")
        || matches!(&words[..], [word] if varve_config::hgrc::boolean(word) == Some(true));
    let listed = everything || words.iter().any(|word| word == feature.as_bytes());
    let key = format!("evolution.{feature}");
    let allowed = session.config.boolean(SECTION, &key, listed);
    allowed.map_err(Abort::Setting)
}

impl Session {
    /// Says, once in a call, that changesets were marked as obsolete although that is not allowed
    /// here. Mercurial says so when it first needs the markers.
    pub(crate) fn tell_of_markers(&mut self) -> Result<(), Abort> {
        if std::mem::replace(&mut self.told_of_markers, true) {
            return Ok(());
        }
        let count = self.repository()?.count_markers()?;
        if count > 0 && !evolution(self)?.markers {
            self.warn(format!(
                "\"obsolete\" feature not enabled but {count} markers found!\n"
            ))?;
        }
        Ok(())
    }

    /// As [`Session::tell_of_markers`], where revisions are looked up: `.` and `null` are found
    /// without, and so is everything that may be hidden.
    pub(crate) fn tell_of_markers_for(&mut self, specs: &[&[u8]]) -> Result<(), Abort> {
        let is_plain = |spec: &&[u8]| [&b"."[..], b"null", b""].contains(spec);
        match self.hidden || specs.iter().all(is_plain) {
            true => Ok(()),
            false => self.tell_of_markers(),
        }
    }
}

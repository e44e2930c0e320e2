//! What `experimental.evolution` allows.

use crate::context::Session;
use crate::ui::Abort;
pub use varve_repo::Evolution;

/// As configured.
pub fn evolution(session: &Session) -> Result<Evolution, Abort> {
    Evolution::read(&session.config).map_err(Abort::Setting)
}

/// Whether markers go from one repository to the other.
pub fn exchanges_markers(session: &Session) -> Result<bool, Abort> {
    Ok(evolution(session)?.exchange)
}

/// The same for a repository that has no settings of its own yet.
pub fn new_exchanges_markers(session: &mut Session) -> Result<bool, Abort> {
    let settings = session.layers.with(None)?.config;
    let evolution = Evolution::read(&settings).map_err(Abort::Setting)?;
    Ok(evolution.exchange)
}

impl Session {
    /// Says, once in a call, that changesets were marked as obsolete although that is not allowed
    /// here. Mercurial says so when it first needs the markers.
    pub fn tell_of_markers(&mut self) -> Result<(), Abort> {
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
    pub fn tell_of_markers_for(&mut self, specs: &[&[u8]]) -> Result<(), Abort> {
        let is_plain = |spec: &&[u8]| [&b"."[..], b"null", b""].contains(spec);
        match self.hidden || specs.iter().all(is_plain) {
            true => Ok(()),
            false => self.tell_of_markers(),
        }
    }
}

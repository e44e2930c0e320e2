//! Whether clients that know no bundle2 are served, as `[server]` says.

use varve_config::hgrc::{Hgrc, HgrcError};
use varve_repo::Repository;

const SECTION: &str = "server";

/// Operation of a client that uses bundle1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bundle1Operation {
    /// To have changesets.
    Pull,
    /// To bring some.
    Push,
}

impl Bundle1Operation {
    /// Whether the repository allows it. The first setting that there is decides; those with `gd`
    /// are about repositories with general deltas.
    ///
    /// # Errors
    /// [`HgrcError::Value`].
    pub fn is_served(self, repository: &Repository, values: &Hgrc) -> Result<bool, HgrcError> {
        let keys = match self {
            Bundle1Operation::Pull => ["bundle1gd.pull", "bundle1.pull", "bundle1gd", "bundle1"],
            Bundle1Operation::Push => ["bundle1gd.push", "bundle1.push", "bundle1gd", "bundle1"],
        };
        let general_delta = repository.requirements().has("generaldelta");
        for key in keys {
            let concerned = general_delta || !key.contains("gd");
            if concerned && values.get(SECTION, key).is_some() {
                return values.boolean(SECTION, key, true);
            }
        }
        Ok(true)
    }
}

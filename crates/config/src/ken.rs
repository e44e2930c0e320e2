//! `[ken]` and `[ken.ignore]`: which indexes are kept up to date behind writes, in CouchDB's words.

use crate::{ConfigError, Ini, Setting};
use std::time::Duration;

/// The section whose keys are names of databases.
pub(crate) const IGNORE: &str = "ken.ignore";

/// How indexes are kept up to date between requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ken {
    /// `batch_channels`: how many are built at the same time; 0 switches it off. Default 1, since one
    /// build uses all cores.
    pub builds: usize,
    /// `wait_secs`: how long after a write; default 5.
    pub wait: Duration,
    /// `[ken.ignore]`: databases that are left alone.
    pub ignored: Vec<String>,
}

pub(crate) fn read(ini: &Ini) -> Result<Ken, ConfigError> {
    let builds = ini.get("ken", "batch_channels");
    let builds = builds.map_or(Ok(1), |setting| setting.number(0..=1000))?;
    let wait = ini.get("ken", "wait_secs");
    let wait = wait.map_or(Ok(5), |setting| setting.number(0..=86_400))?;
    let mut ignored = Vec::new();
    for setting in ini.section(IGNORE) {
        if Setting::boolean(setting)? {
            ignored.push(setting.key.clone());
        }
    }
    Ok(Ken {
        builds: usize::try_from(builds).unwrap_or(0),
        wait: Duration::from_secs(wait.unsigned_abs()),
        ignored,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn ken(text: &str) -> Result<Ken, String> {
        let ini = Ini::parse(Path::new("varve.ini"), text).unwrap();
        read(&ini).map_err(|error| error.to_string())
    }

    #[test]
    fn indexes_are_kept_up_to_date_by_default() {
        let usual = ken("").unwrap();
        assert_eq!((usual.builds, usual.wait.as_secs()), (1, 5));
        assert!(usual.ignored.is_empty());
        let text =
            "[ken]\nbatch_channels = 0\nwait_secs = 60\n[ken.ignore]\na/b = true\nc = false\n";
        let found = ken(text).unwrap();
        assert_eq!((found.builds, found.wait.as_secs()), (0, 60));
        assert_eq!(found.ignored, ["a/b"]);
        let wrong = ken("[ken]\nbatch_channels = many\n").unwrap_err();
        assert!(
            wrong.starts_with("varve.ini:2: ken.batch_channels must be"),
            "{wrong}"
        );
    }
}

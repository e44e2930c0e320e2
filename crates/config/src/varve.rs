//! `[varve]`: settings that neither Mercurial nor CouchDB has a section for.

use crate::setting::or;
use crate::{ConfigError, Ini};
use std::time::Duration;

/// Default of `shutdown_timeout`.
pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest `shutdown_timeout`, in seconds.
const LONGEST: i64 = 86_400;

pub(crate) fn shutdown_timeout(ini: &Ini) -> Result<Duration, ConfigError> {
    or(
        ini.get("varve", "shutdown_timeout"),
        |setting| {
            let seconds = setting.number(0..=LONGEST)?;
            Ok(Duration::from_secs(seconds.unsigned_abs()))
        },
        SHUTDOWN_TIMEOUT,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn running_answers_have_seconds() {
        let time = |text: &str| {
            let ini = Ini::parse(Path::new("varve.ini"), &format!("[varve]\n{text}")).unwrap();
            let time = shutdown_timeout(&ini).map_err(|error| error.to_string());
            time.map(|time| time.as_secs())
        };
        assert_eq!(time(""), Ok(10));
        assert_eq!(time("shutdown_timeout = 0"), Ok(0));
        assert_eq!(time("shutdown_timeout = 86400"), Ok(86_400));
        for wrong in ["-1", "86401", "5s"] {
            let words = "varve.shutdown_timeout must be a number from 0 to 86400";
            let said = format!("varve.ini:2: {words}, not {wrong:?}");
            assert_eq!(time(&format!("shutdown_timeout = {wrong}")), Err(said));
        }
    }
}

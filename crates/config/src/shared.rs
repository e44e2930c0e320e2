//! `[shared]`: care of a store that several servers share.

use crate::{ConfigError, Ini, Setting};
use std::time::Duration;

const DAY: i64 = 86_400;
const YEAR: i64 = 365 * DAY;

/// `collect_every`: time between two removals of what the store has kept for longer than restores reach back; default a day, and
/// `None` for 0.
pub(crate) fn collect_every(ini: &Ini) -> Result<Option<Duration>, ConfigError> {
    let seconds = ini.get("shared", "collect_every");
    let seconds = seconds.map_or(Ok(DAY), |setting| setting.number(0..=YEAR))?;
    Ok((seconds > 0).then(|| Duration::from_secs(seconds.unsigned_abs())))
}

/// `copies_limit`: bytes that local copies may take, as far as nothing uses them; `None` for 0, the default.
pub(crate) fn copies_limit(ini: &Ini) -> Result<Option<u64>, ConfigError> {
    let bytes = ini.get("shared", "copies_limit");
    let bytes = bytes.map_or(Ok(0), Setting::size)?;
    Ok((bytes > 0).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn stores_are_looked_after_daily_by_default() {
        let every = |text: &str| {
            let ini = Ini::parse(Path::new("varve.ini"), &format!("[shared]\n{text}")).unwrap();
            let every = collect_every(&ini).map_err(|error| error.to_string());
            every.map(|every| every.map(|every| every.as_secs()))
        };
        assert_eq!(every(""), Ok(Some(86_400)));
        assert_eq!(every("collect_every = 60"), Ok(Some(60)));
        assert_eq!(every("collect_every = 0"), Ok(None));
        let words = "shared.collect_every must be a number from 0 to 31536000";
        let said = format!("varve.ini:2: {words}, not \"daily\"");
        assert_eq!(every("collect_every = daily"), Err(said));
    }

    #[test]
    fn copies_have_no_limit_by_default() {
        let limit = |text: &str| {
            let ini = Ini::parse(Path::new("varve.ini"), &format!("[shared]\n{text}")).unwrap();
            copies_limit(&ini).ok()
        };
        assert_eq!(limit(""), Some(None));
        assert_eq!(limit("copies_limit = 0"), Some(None));
        assert_eq!(limit("copies_limit = 1000"), Some(Some(1000)));
        assert_eq!(limit("copies_limit = much"), None);
    }
}

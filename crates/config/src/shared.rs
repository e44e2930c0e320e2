//! `[shared]`: care of a store that several servers share.

use crate::{ConfigError, Ini};
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
}

//! `[uuids]`: how ids are made for documents that come without one.

use crate::setting::or;
use crate::{ConfigError, Ini, Setting};

/// `[uuids]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uuids {
    /// `algorithm`; default `sequential`.
    pub algorithm: Algorithm,
    /// `utc_id_suffix`: stands behind each id of that algorithm; default none.
    pub suffix: String,
    /// `max_count`: most ids that one request gets; default 1000.
    pub most: u64,
}

/// How ids are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// 26 random digits that stay for a while, then six that grow.
    Sequential,
    /// 32 random digits.
    Random,
    /// 14 digits of the time, then 18 random ones.
    UtcRandom,
    /// 14 digits of the time, then the suffix.
    UtcId,
}

/// # Errors
/// A value that is not of its type.
pub(crate) fn read(ini: &Ini) -> Result<Uuids, ConfigError> {
    let of = |key| ini.get("uuids", key);
    let most = or(
        of("max_count"),
        |setting| setting.number(1..=1_000_000),
        1000,
    )?;
    Ok(Uuids {
        algorithm: or(of("algorithm"), algorithm, Algorithm::Sequential)?,
        suffix: of("utc_id_suffix").map_or_else(String::new, |setting| setting.value.clone()),
        most: most.unsigned_abs(),
    })
}

fn algorithm(setting: &Setting) -> Result<Algorithm, ConfigError> {
    match setting.value.as_str() {
        "sequential" => Ok(Algorithm::Sequential),
        "random" => Ok(Algorithm::Random),
        "utc_random" => Ok(Algorithm::UtcRandom),
        "utc_id" => Ok(Algorithm::UtcId),
        _ => Err(setting.refuse("sequential, random, utc_random or utc_id")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn algorithms_have_couchdbs_names() {
        let uuids = |text: &str| {
            let ini = Ini::parse(Path::new("varve.ini"), &format!("[uuids]\n{text}")).unwrap();
            read(&ini).map_err(|error| error.reason())
        };
        let usual = uuids("").unwrap();
        assert_eq!((usual.algorithm, usual.most), (Algorithm::Sequential, 1000));
        let set = uuids("algorithm = utc_id\nutc_id_suffix = -a\nmax_count = 5").unwrap();
        assert_eq!(
            (set.algorithm, set.suffix.as_str(), set.most),
            (Algorithm::UtcId, "-a", 5)
        );
        let words = "uuids.algorithm must be sequential, random, utc_random or utc_id, not \"x\"";
        assert_eq!(uuids("algorithm = x"), Err(words.to_owned()));
        assert!(uuids("max_count = 0").is_err());
    }
}

//! `pushkey`: a key of a namespace, its value as the client saw it, and the new one. All four are mandatory
//! parameters; there is no payload.

use super::PartHeader;
use crate::ExchangeError;
use varve_repo::hooks::PushKey;

/// Parameters that are understood.
pub(super) const PARAMETERS: &[&str] = &["namespace", "key", "old", "new"];

/// # Errors
/// [`ExchangeError::MissingArgument`].
pub(crate) fn decode(header: &PartHeader) -> Result<PushKey, ExchangeError> {
    let value = |name: &'static str| {
        let missing = || ExchangeError::MissingArgument {
            command: "pushkey".to_owned(),
            name,
        };
        header.value(name).map(<[u8]>::to_vec).ok_or_else(missing)
    };
    Ok(PushKey {
        namespace: value("namespace")?,
        key: value("key")?,
        old: value("old")?,
        new: value("new")?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::PartType;
    use super::*;

    #[test]
    fn all_parameters_are_needed() {
        let whole = PartHeader::mandatory(PartType::PushKey)
            .with("namespace", "bookmarks")
            .with("key", "main")
            .with("old", "")
            .with("new", "07");
        let key = decode(&whole).unwrap();
        assert_eq!(
            (&key.namespace[..], &key.key[..]),
            (&b"bookmarks"[..], &b"main"[..])
        );
        assert_eq!((&key.old[..], &key.new[..]), (&b""[..], &b"07"[..]));
        for (at, name) in PARAMETERS.iter().enumerate() {
            let mut cut = whole.clone();
            cut.mandatory.remove(at);
            let refused = decode(&cut).unwrap_err();
            let words = format!("command pushkey needs the argument {name}");
            assert_eq!(refused.to_string(), words);
        }
    }
}

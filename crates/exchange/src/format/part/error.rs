//! `error:*`: the sender failed, and the reader stops.
//!
//! ```text
//! error:abort               message   [hint]
//! error:unsupportedcontent  [parttype]   [params, separated by zero bytes]
//! error:pushraced           message
//! error:pushkey             in-reply-to   [namespace   key   new   old]
//! ```
//! Values that are longer than a parameter can be are cut.

use super::{PartHeader, PartType};
use crate::ExchangeError;
use varve_repo::hooks::PushKey;

/// Longest value of a parameter, in bytes.
const LONGEST: usize = 255;

/// A failure as a part has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ErrorPart {
    Abort {
        message: String,
        hint: Option<String>,
    },
    /// The type of a part or parameters of it, as in [`ExchangeError::UnknownBundleFeature`].
    UnsupportedContent {
        feature: String,
    },
    PushRaced {
        message: String,
    },
    /// A key was not set; a name that is missing is empty.
    KeyRefused {
        part: u32,
        key: PushKey,
    },
}

/// The part that reports an error.
pub(crate) fn encode(error: &ExchangeError) -> PartHeader {
    let message = error.with_causes();
    match error {
        ExchangeError::RepositoryChanged(_) => {
            PartHeader::mandatory(PartType::ErrorPushRaced).with("message", fitting(&message))
        }
        ExchangeError::KeyRefused { part, key } => {
            let text = |value: &[u8]| fitting(&String::from_utf8_lossy(value)).to_owned();
            PartHeader::mandatory(PartType::ErrorPushKey)
                .with("in-reply-to", part.to_string())
                .with_advisory("namespace", text(&key.namespace))
                .with_advisory("key", text(&key.key))
                .with_advisory("new", text(&key.new))
                .with_advisory("old", text(&key.old))
        }
        ExchangeError::UnknownBundleFeature(feature) => encode_unsupported(feature),
        _ => {
            let header = abort(PartHeader::mandatory(PartType::ErrorAbort), &message);
            match error.hint() {
                Some(hint) => header.with_advisory("hint", fitting(&hint)),
                None => header,
            }
        }
    }
}

/// The part that interrupts a payload which cannot be written to its end.
pub(crate) fn encode_interruption(error: &ExchangeError) -> PartHeader {
    let header = PartHeader::advisory(PartType::ErrorAbort);
    abort(header, &error.with_causes())
}

fn abort(header: PartHeader, message: &str) -> PartHeader {
    header.with("message", fitting(message))
}

fn encode_unsupported(feature: &str) -> PartHeader {
    let (part_type, params) = match feature.split_once(" - ") {
        // A parameter of the whole bundle; only its name counts.
        Some(("Stream Parameter", params)) => {
            let name = params.split('=').next().unwrap_or_default();
            ("", name.to_owned())
        }
        Some((part_type, params)) => (part_type, params.replace(", ", "\0")),
        None => (feature, String::new()),
    };
    let mut header = PartHeader::mandatory(PartType::ErrorUnsupportedContent);
    for (key, value) in [("parttype", part_type), ("params", &params)] {
        if !value.is_empty() {
            header = header.with(key, fitting(value));
        }
    }
    header
}

/// The error that a part reports; `None` if its type is not one of a known error.
pub(crate) fn decode(header: &PartHeader) -> Option<ErrorPart> {
    let message = || header.text("message").unwrap_or_default();
    match header.part_type()? {
        PartType::ErrorAbort => Some(ErrorPart::Abort {
            message: message(),
            hint: header.text("hint"),
        }),
        PartType::ErrorUnsupportedContent => {
            let mut feature = header.text("parttype").unwrap_or_default();
            if let Some(params) = header.text("params") {
                feature += " - ";
                feature += &params.replace('\0', ", ");
            }
            Some(ErrorPart::UnsupportedContent { feature })
        }
        PartType::ErrorPushRaced => Some(ErrorPart::PushRaced { message: message() }),
        PartType::ErrorPushKey => {
            let value = |name| header.value(name).map(<[u8]>::to_vec).unwrap_or_default();
            let part = header.text("in-reply-to");
            Some(ErrorPart::KeyRefused {
                part: part.and_then(|part| part.parse().ok()).unwrap_or_default(),
                key: PushKey {
                    namespace: value("namespace"),
                    key: value("key"),
                    old: value("old"),
                    new: value("new"),
                },
            })
        }
        _ => None,
    }
}

impl From<ErrorPart> for ExchangeError {
    /// The error of a reader that pulls.
    fn from(part: ErrorPart) -> Self {
        match part {
            ErrorPart::Abort { message, hint } => ExchangeError::RemoteAbort { message, hint },
            ErrorPart::UnsupportedContent { feature } => {
                ExchangeError::UnknownBundleFeature(feature)
            }
            ErrorPart::PushRaced { message } => ExchangeError::RemoteAbort {
                message: format!("push failed:\n'{message}'"),
                hint: None,
            },
            ErrorPart::KeyRefused { part, key } => ExchangeError::KeyRefused { part, key },
        }
    }
}

/// As much of a text as a parameter can hold.
fn fitting(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn aborted(message: &str, hint: Option<&str>) -> ExchangeError {
        ExchangeError::RemoteAbort {
            message: message.to_owned(),
            hint: hint.map(str::to_owned),
        }
    }

    #[test]
    fn golden_abort() {
        let header = encode(&aborted("no", Some("try")));
        let expected: &[u8] = b"\x0bERROR:ABORT\0\0\0\0\x01\x01\x07\x02\x04\x03messagenohinttry";
        assert_eq!(header.encode().unwrap(), expected);
        let told = ErrorPart::Abort {
            message: "no".to_owned(),
            hint: Some("try".to_owned()),
        };
        assert_eq!(decode(&header), Some(told));
        let interruption = encode_interruption(&aborted("no", Some("try")));
        assert_eq!(interruption.name, b"error:abort");
        assert_eq!(interruption.advisory, []);
    }

    #[test]
    fn unknown_features_name_type_and_parameters() {
        let of = |feature: &str| encode(&ExchangeError::UnknownBundleFeature(feature.to_owned()));
        for (feature, part_type, params) in [
            ("foo", Some("foo"), None),
            ("foo - a, b", Some("foo"), Some("a\0b")),
            (
                "changegroup - version='09'",
                Some("changegroup"),
                Some("version='09'"),
            ),
            (
                "Stream Parameter - Compression='XX'",
                None,
                Some("Compression"),
            ),
        ] {
            let header = of(feature);
            assert_eq!(header.text("parttype").as_deref(), part_type, "{feature}");
            assert_eq!(header.text("params").as_deref(), params, "{feature}");
        }
        let back = ExchangeError::from(decode(&of("foo - a, b")).unwrap());
        assert_eq!(back.to_string(), "unknown bundle feature, foo - a, b");
    }

    #[test]
    fn a_race_and_a_refused_key() {
        let raced = encode(&ExchangeError::RepositoryChanged(" (x)".to_owned()));
        assert_eq!(raced.name, b"ERROR:PUSHRACED");
        let message = "remote repository changed while pushing - please try again (x)";
        assert_eq!(raced.text("message").as_deref(), Some(message));
        let told = ErrorPart::PushRaced {
            message: message.to_owned(),
        };
        assert_eq!(decode(&raced), Some(told));
        let key = PushKey {
            namespace: b"phases".to_vec(),
            key: b"k".to_vec(),
            old: b"1".to_vec(),
            new: b"0".to_vec(),
        };
        let refused = encode(&ExchangeError::KeyRefused {
            part: 4,
            key: key.clone(),
        });
        let expected: &[u8] =
            b"\x0dERROR:PUSHKEY\0\0\0\0\x01\x04\x0b\x01\x09\x06\x03\x01\x03\x01\x03\x01\
            in-reply-to4namespacephaseskeyknew0old1";
        assert_eq!(refused.encode().unwrap(), expected);
        assert_eq!(
            decode(&refused),
            Some(ErrorPart::KeyRefused { part: 4, key })
        );
    }

    proptest! {
        #[test]
        fn any_message_fits_and_comes_back_as_far_as_it_fits(message in "\\PC{0,200}") {
            let header = encode(&aborted(&message, Some(&message)));
            let bytes = header.encode().unwrap();
            let decoded = decode(&PartHeader::decode(&bytes).unwrap());
            let Some(ErrorPart::Abort { message: told, hint }) = decoded else {
                panic!("an abort is told as one");
            };
            prop_assert_eq!(hint.as_ref(), Some(&told));
            prop_assert!(message.starts_with(&told));
            prop_assert!(told.len() == message.len() || told.len() > LONGEST - 4);
        }
    }
}

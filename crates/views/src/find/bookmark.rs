//! Where the next page begins.
//!
//! To clients a bookmark is opaque. It is the JSON text of the last row's document id and, where an
//! index has keys, the row's key, in URL-safe base64 without padding.

use super::FindError;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use varve_json::{Object, Value, parse};

/// The bookmark of a query that has none.
const NONE: &str = "nil";

/// The last row of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Bookmark {
    /// The document.
    pub id: String,
    /// The row's key, unless all documents were read.
    pub key: Option<Value>,
}

impl Bookmark {
    /// Reads a bookmark that a client got earlier.
    ///
    /// # Errors
    /// [`FindError::Value`] for anything else.
    pub fn read(text: &str) -> Result<Option<Bookmark>, FindError> {
        if text.is_empty() || text == NONE {
            return Ok(None);
        }
        Bookmark::decode(text).map(Some).ok_or_else(|| {
            let word = "invalid_bookmark";
            FindError::value(word, "Invalid bookmark value: ", &Value::from(text))
        })
    }

    fn decode(text: &str) -> Option<Bookmark> {
        let value = parse(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        Some(Bookmark {
            id: value.get("id")?.as_str()?.to_owned(),
            key: value.get("key").cloned(),
        })
    }

    /// As clients are given it.
    pub fn write(bookmark: Option<&Bookmark>) -> String {
        let Some(bookmark) = bookmark else {
            return NONE.to_owned();
        };
        let mut object = Object::new();
        object.insert("id", bookmark.id.as_str());
        if let Some(key) = &bookmark.key {
            object.insert("key", key.clone());
        }
        URL_SAFE_NO_PAD.encode(varve_json::to_string(&Value::Object(object)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bookmarks_come_back() {
        let of_index = Bookmark {
            id: "a".to_owned(),
            key: parse(br#"[1,"x"]"#).ok(),
        };
        let of_all = Bookmark {
            id: "é".to_owned(),
            key: None,
        };
        for bookmark in [of_index, of_all] {
            let text = Bookmark::write(Some(&bookmark));
            assert_eq!(Bookmark::read(&text).unwrap(), Some(bookmark));
        }
        assert_eq!(Bookmark::read(&Bookmark::write(None)), Ok(None));
        for wrong in [
            "x",
            "e30",
            "!",
            "g1AAAAA4eJzLYWBgYMpgSmHgKy5JLCrJTq2MT8lPzkzJBYoz",
        ] {
            assert_eq!(
                Bookmark::read(wrong).unwrap_err().name(),
                "invalid_bookmark"
            );
        }
    }
}

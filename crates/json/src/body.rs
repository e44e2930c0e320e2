//! A document's body in the two forms in which CouchDB has it.

use crate::{JsonError, Object, parse_object, term, write_object};

/// The JSON text of an object, and the term of it that counts for a revision's digest.
///
/// ```text
/// +-----------+------+
/// | JSON text | term |
/// +-----------+------+
/// ```
/// Both are made while the object is read, so that there is never a tree of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    forms: Box<[u8]>,
    /// Length of the text.
    text: usize,
}

impl Body {
    /// Joins the two forms.
    pub(crate) fn new(text: &[u8], term: &[u8]) -> Self {
        Body {
            forms: [text, term].concat().into(),
            text: text.len(),
        }
    }

    /// The JSON text as CouchDB writes it.
    pub fn text(&self) -> &[u8] {
        &self.forms[..self.text]
    }

    /// The external term; members that begin with `_` are not in it.
    pub fn term(&self) -> &[u8] {
        &self.forms[self.text..]
    }

    /// The object itself.
    ///
    /// # Errors
    /// None for a body that was read or made; the type is that of reading.
    pub fn to_object(&self) -> Result<Object, JsonError> {
        parse_object(self.text())
    }
}

impl From<&Object> for Body {
    fn from(object: &Object) -> Self {
        let (mut text, mut encoded) = (Vec::new(), Vec::new());
        write_object(object, &mut text);
        term::body(object, &mut encoded);
        Body::new(&text, &encoded)
    }
}

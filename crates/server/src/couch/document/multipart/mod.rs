//! Multipart bodies: read part by part, and boundaries for those that are sent.

mod read;

pub(crate) use read::collect;
pub use read::{Headers, Parts};

use crate::Failure;

/// The `boundary` parameter of a content type.
pub fn boundary_of(content_type: &str) -> Option<&str> {
    let at = content_type.find("boundary=")?;
    let value = &content_type[at + "boundary=".len()..];
    let value = match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => value.split(';').next()?.trim(),
    };
    (!value.is_empty()).then_some(value)
}

/// A random boundary of 128 bits, so that no body contains it.
///
/// # Errors
/// 500 if the system has no random numbers.
pub fn new_boundary() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(Failure::internal)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A parameter of a `Content-Disposition`, such as `filename="a.txt"`, without its quotes.
pub fn parameter(disposition: &str, name: &str) -> Option<String> {
    let mut rest = disposition.split_once(';')?.1;
    loop {
        let (key, behind) = rest.split_once('=')?;
        let (value, behind) = value_of(behind.trim_start());
        if key.trim().eq_ignore_ascii_case(name) {
            return Some(value);
        }
        rest = behind.split_once(';')?.1;
    }
}

/// A parameter's value, quoted or not, and the text behind it.
fn value_of(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(';').unwrap_or(text.len());
        return (text[..end].trim().to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(letters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_come_quoted_or_not() {
        assert_eq!(
            boundary_of("multipart/related; boundary=\"a b\"; x=1"),
            Some("a b")
        );
        assert_eq!(
            boundary_of("multipart/related;boundary=ab; x=1"),
            Some("ab")
        );
        assert_eq!(boundary_of("multipart/related"), None);
        assert_eq!(boundary_of("multipart/related; boundary="), None);
    }

    #[test]
    fn parameters_are_found_among_others() {
        let text = r#"form-data; name="a;b\"c"; filename=d.txt ; x="#;
        assert_eq!(parameter(text, "name").as_deref(), Some("a;b\"c"));
        assert_eq!(parameter(text, "filename").as_deref(), Some("d.txt"));
        assert_eq!(parameter(text, "x").as_deref(), Some(""));
        assert_eq!(parameter(text, "y"), None);
        assert_eq!(parameter("form-data", "name"), None);
        assert_eq!(parameter("a; name=\"open", "name").as_deref(), Some("open"));
    }
}

//! Values in the form in which Mercurial shows them to hooks, which is Python's.

/// A string of bytes.
pub fn string(bytes: &[u8]) -> String {
    let mut out = String::from("'");
    for byte in bytes {
        match byte {
            b'\'' => out.push_str("\\'"),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            32..=126 => out.push(char::from(*byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('\'');
    out
}

/// A list of strings.
pub fn list<'a>(items: impl IntoIterator<Item = &'a [u8]>) -> String {
    let items: Vec<String> = items.into_iter().map(string).collect();
    format!("[{}]", items.join(", "))
}

/// A dictionary from strings to strings, in the order of `items`.
pub fn dictionary<'a>(items: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> String {
    let pair = |(key, value)| format!("{}: {}", string(key), string(value));
    let items: Vec<String> = items.into_iter().map(pair).collect();
    format!("{{{}}}", items.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_string_is_escaped() {
        let items: [&[u8]; 2] = [b"it's", b"a\"b\t\xc3\\"];
        assert_eq!(list(items), r#"['it\'s', 'a"b\t\xc3\\']"#);
    }

    /// Recorded from Mercurial: `HG_VALUES` of bookmarks with these names.
    #[test]
    fn a_dictionary_is_as_in_the_variable_of_a_hook() {
        let items: [(&[u8], &[u8]); 3] =
            [("bä\\n".as_bytes(), b"1"), (b"it's", b""), (b"q\"x", b"3")];
        let shown = r#"{'b\xc3\xa4\\n': '1', 'it\'s': '', 'q"x': '3'}"#;
        assert_eq!(dictionary(items), shown);
        assert_eq!(dictionary([]), "{}");
    }
}

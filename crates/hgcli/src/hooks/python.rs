//! Values in the form in which Mercurial shows them to hooks, which is Python's.

/// A string of bytes.
pub(crate) fn string(bytes: &[u8]) -> String {
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

#[cfg(test)]
mod tests {
    #[test]
    fn what_would_end_a_string_is_escaped() {
        let items: [&[u8]; 2] = [b"it's", b"a\"b\t\xc3\\"];
        assert_eq!(super::list(items), r#"['it\'s', 'a"b\t\xc3\\']"#);
    }
}

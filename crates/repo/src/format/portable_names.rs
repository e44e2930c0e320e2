//! Names of files that other systems cannot have.

/// Reason for which Windows does not accept a path.
pub fn unportable(file: &[u8]) -> Option<String> {
    if file.ends_with(b"\\") {
        return Some("filename ends with '\\', which is invalid on Windows".to_owned());
    }
    if file.windows(2).any(|pair| pair == b"\\/") {
        return Some("directory name ends with '\\', which is invalid on Windows".to_owned());
    }
    for name in file
        .split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
    {
        let reserved =
            |what: &str| format!("filename contains '{what}', which is reserved on Windows");
        for byte in name {
            if b":*?\"<>|".contains(byte) {
                return Some(reserved(&char::from(*byte).to_string()));
            }
            if *byte < 32 {
                let shown = [*byte].escape_ascii().to_string();
                return Some(format!(
                    "filename contains '{shown}', which is invalid on Windows"
                ));
            }
        }
        let base = name.split(|byte| *byte == b'.').next().unwrap_or(name);
        if is_device(&base.to_ascii_lowercase()) {
            return Some(reserved(&String::from_utf8_lossy(base)));
        }
        let last = name[name.len() - 1];
        if matches!(last, b'.' | b' ') && name != b"." && name != b".." {
            let last = char::from(last);
            return Some(format!(
                "filename ends with '{last}', which is not allowed on Windows"
            ));
        }
    }
    None
}

fn is_device(base: &[u8]) -> bool {
    match base {
        b"con" | b"prn" | b"aux" | b"nul" => true,
        [port @ .., b'1'..=b'9'] => port == b"com" || port == b"lpt",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_windows_refuses_are_told_why() {
        for (name, reason) in [
            ("a/b.c", None),
            (
                "a:b",
                Some("filename contains ':', which is reserved on Windows"),
            ),
            (
                "d/AUX.c",
                Some("filename contains 'AUX', which is reserved on Windows"),
            ),
            ("com0", None),
            (
                "lpt9",
                Some("filename contains 'lpt9', which is reserved on Windows"),
            ),
            (
                "x./y",
                Some("filename ends with '.', which is not allowed on Windows"),
            ),
            (
                "b\\",
                Some("filename ends with '\\', which is invalid on Windows"),
            ),
            (
                "a\u{1}",
                Some("filename contains '\\x01', which is invalid on Windows"),
            ),
        ] {
            assert_eq!(unportable(name.as_bytes()).as_deref(), reason, "{name}");
        }
    }
}

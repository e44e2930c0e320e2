//! Values of mail headers, in which `=?CHARSET?ENCODING?TEXT?=` stands for text beyond ASCII.

use crate::transfer;

/// A run of a value in one character set; `None` is the text outside of encoded words.
struct Run {
    charset: Option<String>,
    bytes: Vec<u8>,
}

/// The value as UTF-8. Runs of different character sets have a space between them.
pub(crate) fn decode(value: &[u8]) -> Vec<u8> {
    let texts: Vec<String> = runs(value).iter().map(text).collect();
    texts.join(" ").into_bytes()
}

fn text(run: &Run) -> String {
    let known = run
        .charset
        .as_deref()
        .and_then(|set| of_charset(set, &run.bytes));
    known
        .or_else(|| String::from_utf8(run.bytes.clone()).ok())
        .unwrap_or_else(|| latin_1(&run.bytes))
}

fn latin_1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// Text of a character set; `None` if the set is unknown or the text is none of it.
fn of_charset(charset: &str, bytes: &[u8]) -> Option<String> {
    match charset {
        "utf-8" | "utf8" => String::from_utf8(bytes.to_vec()).ok(),
        "us-ascii" | "ascii" => bytes.is_ascii().then(|| latin_1(bytes)),
        "iso-8859-1" | "iso8859-1" | "latin-1" | "latin1" => Some(latin_1(bytes)),
        "iso-8859-15" | "iso8859-15" | "latin-9" => {
            Some(bytes.iter().map(|byte| latin_9(*byte)).collect())
        }
        "windows-1252" | "cp1252" => bytes.iter().map(|byte| windows_1252(*byte)).collect(),
        _ => None,
    }
}

fn latin_9(byte: u8) -> char {
    match byte {
        0xa4 => '€',
        0xa6 => 'Š',
        0xa8 => 'š',
        0xb4 => 'Ž',
        0xb8 => 'ž',
        0xbc => 'Œ',
        0xbd => 'œ',
        0xbe => 'Ÿ',
        other => char::from(other),
    }
}

fn windows_1252(byte: u8) -> Option<char> {
    const FIRST: u8 = 0x80;
    /// From [`FIRST`] on; the blanks are not used.
    const CHARACTERS: &str = "€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ";
    match byte.checked_sub(FIRST) {
        Some(at) if at < 0x20 => {
            let found = CHARACTERS.chars().nth(usize::from(at));
            found.filter(|found| *found != ' ')
        }
        _ => Some(char::from(byte)),
    }
}

/// Cuts a value; blanks between two encoded words count for nothing, and neighbours of one set are one run.
fn runs(value: &[u8]) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::new();
    let mut rest = value;
    let mut was_word = false;
    while !rest.is_empty() {
        let found = (0..rest.len()).find_map(|at| {
            let starts = rest[at..].starts_with(b"=?");
            let (word, len) = starts.then(|| word(&rest[at..])).flatten()?;
            Some((at, word, len))
        });
        let Some((at, word, len)) = found else {
            push(&mut out, None, rest.to_vec());
            break;
        };
        let between = &rest[..at];
        let is_nothing = between.is_empty() || was_word && between.trim_ascii().is_empty();
        if !is_nothing {
            push(&mut out, None, between.to_vec());
        }
        push(&mut out, word.charset, word.bytes);
        (rest, was_word) = (&rest[at + len..], true);
    }
    if let Some(first) = out.first_mut().filter(|run| run.charset.is_none()) {
        first.bytes = first.bytes.trim_ascii_start().to_vec();
    }
    out
}

fn push(out: &mut Vec<Run>, charset: Option<String>, bytes: Vec<u8>) {
    match out.last_mut().filter(|last| last.charset == charset) {
        Some(last) => last.bytes.extend(bytes),
        None => out.push(Run { charset, bytes }),
    }
}

/// The encoded word at the start, and its length.
fn word(text: &[u8]) -> Option<(Run, usize)> {
    let rest = text.strip_prefix(b"=?")?;
    let charset_len = memchr::memchr(b'?', rest)?;
    let (charset, rest) = rest.split_at(charset_len);
    let [b'?', encoding, b'?', encoded @ ..] = rest else {
        return None;
    };
    let end = memchr::memmem::find(encoded, b"?=")?;
    let encoded_text = &encoded[..end];
    let bytes = match encoding.to_ascii_lowercase() {
        b'q' => transfer::quoted_printable(encoded_text, true),
        b'b' => transfer::base64(encoded_text)?,
        _ => return None,
    };
    let charset = std::str::from_utf8(charset).ok()?.to_ascii_lowercase();
    let len = text.len() - encoded.len() + end + 2;
    let charset = Some(charset);
    Some((Run { charset, bytes }, len))
}

#[cfg(test)]
mod tests {
    fn decoded(value: &str) -> String {
        String::from_utf8(super::decode(value.as_bytes())).unwrap()
    }

    #[test]
    fn words_are_decoded_as_mercurial_does() {
        assert_eq!(decoded("plain"), "plain");
        assert_eq!(decoded("=?utf-8?q?caf=C3=A9?="), "café");
        assert_eq!(
            decoded("=?utf-8?b?SsO8cmdlbg==?= <joe@x>"),
            "Jürgen  <joe@x>"
        );
        let latin = "=?iso-8859-1?q?caf=E9_x?= =?iso-8859-1?q?=E9?= z";
        assert_eq!(decoded(latin), "café xé  z");
        assert_eq!(decoded("=?cp1252?q?=80=9F?="), "€Ÿ");
        assert_eq!(decoded("=?unknown?q?=E9?="), "é");
        assert_eq!(decoded("=?utf-8?x?no?= =?"), "=?utf-8?x?no?= =?");
    }
}

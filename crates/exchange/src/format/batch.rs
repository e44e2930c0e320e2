//! Several commands in one request: `name key=value,key=value;name …`.
//!
//! The characters that separate are written `:c` (colon), `:o` (comma), `:s` (semicolon) and
//! `:e` (equals sign) inside keys, values and answers.

use crate::ExchangeError;

/// Arguments as decoded pairs, in the order of arrival.
pub type Args = Vec<(Vec<u8>, Vec<u8>)>;

/// Commands in one batch; clients send a handful.
const MAX_COMMANDS: usize = 1000;

/// One command of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BatchCommand {
    pub(crate) name: String,
    pub(crate) args: Args,
}

/// Takes a batch apart.
pub(crate) fn parse(cmds: &[u8]) -> Result<Vec<BatchCommand>, ExchangeError> {
    let pieces = cmds.split(|&b| b == b';');
    if pieces.clone().count() > MAX_COMMANDS {
        return Err(damaged(format!("it has more than {MAX_COMMANDS} commands")));
    }
    pieces.map(parse_command).collect()
}

fn damaged(reason: String) -> ExchangeError {
    let what = "batch";
    ExchangeError::BadRequest { what, reason }
}

fn split_at_byte(bytes: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|&b| b == separator)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

fn parse_command(piece: &[u8]) -> Result<BatchCommand, ExchangeError> {
    let (name, args) = split_at_byte(piece, b' ').unwrap_or((piece, &[]));
    let mut decoded = Args::new();
    for pair in args.split(|&b| b == b',').filter(|p| !p.is_empty()) {
        let (key, value) = split_at_byte(pair, b'=').ok_or_else(|| {
            let pair = String::from_utf8_lossy(pair);
            damaged(format!("argument {pair:?} has no equals sign"))
        })?;
        decoded.push((unescape(key), unescape(value)));
    }
    Ok(BatchCommand {
        name: String::from_utf8_lossy(name).into_owned(),
        args: decoded,
    })
}

/// The characters with a meaning and the letters behind a colon that stand for them.
const ESCAPES: [(u8, u8); 4] = [(b':', b'c'), (b',', b'o'), (b';', b's'), (b'=', b'e')];

/// Appends `plain` with the separators escaped.
pub(crate) fn escape(plain: &[u8], out: &mut Vec<u8>) {
    for &byte in plain {
        match ESCAPES.iter().find(|(from, _)| *from == byte) {
            Some((_, to)) => out.extend_from_slice(&[b':', *to]),
            None => out.push(byte),
        }
    }
}

/// Undoes [`escape`]; a colon before anything else stays.
pub(crate) fn unescape(escaped: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((&byte, after)) = rest.split_first() {
        let known = ESCAPES.iter().find(|(_, to)| after.first() == Some(to));
        match known {
            Some((from, _)) if byte == b':' => {
                plain.push(*from);
                rest = &after[1..];
            }
            _ => {
                plain.push(byte);
                rest = after;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_real_batch() {
        let commands = parse(b"heads ;known nodes=ab cd").unwrap();
        assert_eq!(commands.len(), 2);
        assert_eq!(commands[0].name, "heads");
        assert!(commands[0].args.is_empty());
        assert_eq!(commands[1].args, [(b"nodes".to_vec(), b"ab cd".to_vec())]);
        let commands = parse(b"lookup key=a:o:cx:s:e").unwrap();
        assert_eq!(commands[0].args, [(b"key".to_vec(), b"a,:x;=".to_vec())]);
        assert!(parse(b"known nodes").is_err());
        assert!(parse(&b";".repeat(MAX_COMMANDS)).is_err());
    }

    proptest! {
        #[test]
        fn what_is_escaped_comes_back(plain in proptest::collection::vec(any::<u8>(), 0..50)) {
            let mut escaped = Vec::new();
            escape(&plain, &mut escaped);
            prop_assert!(!escaped.iter().any(|b| b",;=".contains(b)));
            prop_assert_eq!(unescape(&escaped), plain);
        }
    }
}

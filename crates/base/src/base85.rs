//! Bytes as text of 85 characters, in the order of RFC 1924: four bytes are five of them, the higher digits first. A
//! last group of less than four bytes has one character more than bytes.
//!
//! Git's binary patches use them, and so do Mercurial's keys.

const DIGITS: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// The text of some bytes.
pub fn encode(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() / 4 * 5 + 5);
    for group in bytes.chunks(4) {
        let mut padded = [0; 4];
        padded[..group.len()].copy_from_slice(group);
        let mut number = u32::from_be_bytes(padded);
        let mut digits = [0; 5];
        for digit in digits.iter_mut().rev() {
            *digit = DIGITS[(number % 85) as usize];
            number /= 85;
        }
        out.extend_from_slice(&digits[..=group.len()]);
    }
    out
}

/// The bytes of a text; `None` if it is none of any.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 5 * 4 + 4);
    for group in text.chunks(5) {
        // Missing digits are taken for the highest one, so that they do not change the bytes that are kept.
        let mut digits = [84; 5];
        for (digit, byte) in digits.iter_mut().zip(group) {
            *digit = DIGITS.iter().position(|known| known == byte)?;
        }
        let number = digits
            .iter()
            .fold(0, |number, digit| number * 85 + *digit as u64);
        let bytes = u32::try_from(number).ok()?.to_be_bytes();
        out.extend_from_slice(&bytes[..group.len() - 1]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_mercurial_writes_is_read_and_written() {
        let golden = [
            (&b"\0\x01\0\0\0\x39\0"[..], &b"009610672"[..]),
            (b"", b""),
            (b"\xff\xff\xff\xff", b"|NsC0"),
        ];
        for (bytes, text) in golden {
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).unwrap(), bytes);
        }
        for len in 0..9 {
            let bytes = &b"\xff\xfe\x80\0\x01\x7f\xff\xff\xff"[..len];
            assert_eq!(decode(&encode(bytes)).unwrap(), bytes);
        }
        for bad in ["\"", "00000\"", "~~~~~", "|NsC1", " 0000"] {
            assert_eq!(decode(bad.as_bytes()), None, "{bad}");
        }
    }
}

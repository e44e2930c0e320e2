//! Numbers of stream clones: seven bits a byte, lowest first, the top bit says that more follow.

/// Appends `value`.
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes one number off the front; `None` if the bytes end early or it needs over 64 bits.
#[cfg(test)]
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_numbers_have_known_bytes() {
        for (value, bytes) in [
            (0, &b"\0"[..]),
            (127, b"\x7f"),
            (128, b"\x80\x01"),
            (1337, b"\xb9\x0a"),
            (65536, b"\x80\x80\x04"),
        ] {
            let mut out = Vec::new();
            put(&mut out, value);
            assert_eq!(out, bytes, "{value}");
        }
    }

    proptest! {
        #[test]
        fn what_is_put_is_taken(value in any::<u64>()) {
            let mut out = Vec::new();
            put(&mut out, value);
            let mut rest = &out[..];
            prop_assert_eq!(take(&mut rest), Some(value));
            prop_assert!(rest.is_empty());
        }
    }
}

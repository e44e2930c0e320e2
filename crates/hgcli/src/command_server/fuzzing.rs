//! Promises for any bytes from a client of the command server.

use super::request;

/// Never panics, ends, and reads no more arguments than there are bytes.
pub fn command_server_requests(data: &[u8]) {
    let mut input = data;
    let mut before = input.len();
    while let Ok(Some(request)) = request::read(&mut input) {
        assert!(input.len() < before, "a request takes bytes");
        if let request::Request::RunCommand(words) = request {
            let bytes: usize = words.iter().map(|word| word.len() + 1).sum();
            assert!(bytes <= before - input.len());
        }
        before = input.len();
    }
}

#[cfg(test)]
mod tests {
    use super::command_server_requests;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_and_changed_requests_are_survived(
            bytes in proptest::collection::vec(any::<u8>(), 0..64),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        ) {
            command_server_requests(&bytes);
            let mut changed = b"getencoding\nruncommand\n\0\0\0\x08log\0-l\x001runcommand\n\0\0\0\0".to_vec();
            for (at, byte) in &changes {
                let at = at.index(changed.len());
                changed[at] = *byte;
            }
            command_server_requests(&changed);
        }
    }
}

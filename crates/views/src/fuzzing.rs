//! What fuzzers run, and a test over a few inputs.

use crate::reduce::Reduced;
use crate::row::{keys_of_entry, read_varint};
use crate::{QueryOptions, ViewGroup};

/// Never panics, and makes no more keys than the entry has bytes.
pub fn index_values(data: &[u8]) {
    let mut keys = Vec::new();
    // A damaged entry is `None`; what was read until then is checked all the same.
    let _ = keys_of_entry("id", data, &mut keys);
    assert!(keys.len() <= data.len());
    for index in 0..3 {
        Reduced::read(data, index);
    }
    let mut rest = data;
    if read_varint(&mut rest).is_some() {
        assert!(rest.len() < data.len());
    }
}

/// Never panics on what a client says: a design document, or the body of a query.
pub fn requests(data: &[u8]) {
    if let Ok(object) = varve_json::parse_object(data) {
        drop(ViewGroup::read(&object));
        let mut options = QueryOptions::default();
        if options.set_body(&object).is_ok() {
            drop(options.check_for_view(true));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    #[test]
    fn saved_requests_do_no_harm() {
        for text in [
            r#"{"views":{"v":{"map":"m","reduce":"_sum"},"lib":1},"options":[],"language":1}"#,
            r#"{"keys":[{}],"limit":1e400,"group_level":-1,"key":[[]]}"#,
            r#"{"startkey":2,"endkey":[1],"descending":"true","skip":18446744073709551616}"#,
        ] {
            for end in 0..=text.len() {
                super::requests(&text.as_bytes()[..end]);
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            super::index_values(&bytes);
            super::requests(&bytes);
        }
    }
}

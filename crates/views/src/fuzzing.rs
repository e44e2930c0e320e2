//! Entry points of fuzzers, and a test over a few inputs.

use crate::change_row::read_leaves;
use crate::find::{DEFAULT_LIMIT, FindOptions, JsonIndex, KeyRange, NewIndex, Plan, explain};
use crate::principals::{MOST_KEYS, keys_of_readers};
use crate::reduce::Reduced;
use crate::row::{keys_of_entry, read_varint};
use crate::selector::{Indexed, key_of};
use crate::{QueryOptions, ViewGroup};
use varve_json::collate::Order;
use varve_json::{Object, Value};

/// Never panics, and makes no more keys or leaves than the entry has bytes.
pub fn index_values(data: &[u8]) {
    if let Some(leaves) = read_leaves(data) {
        assert!(leaves.len() < data.len() && leaves.is_sorted());
    }
    let mut keys = Vec::new();
    // A damaged entry is `None`; the keys read until then are checked all the same.
    let _ = keys_of_entry("id", data, &mut keys);
    assert!(keys.len() <= data.len());
    let (rows, mut items) = (keys.len(), Vec::new());
    let _ = keys_of_readers("id", (data, &keys), 2, &mut items);
    assert!(items.len() <= data.len() * (2 + rows + data.len()) + 1);
    assert!(
        items.iter().map(|(_, key)| key.len()).sum::<usize>() <= MOST_KEYS + 9 * data.len() + 9
    );
    for index in 0..3 {
        Reduced::read(data, index).into_json();
    }
    let mut rest = data;
    if read_varint(&mut rest).is_some() {
        assert!(rest.len() < data.len());
    }
}

/// Never panics on a client's input: a design document, or the body of a query.
pub fn requests(data: &[u8]) {
    if let Ok(object) = varve_json::parse_object(data) {
        drop(ViewGroup::read(&object));
        let mut options = QueryOptions::default();
        if options.set_body(&object).is_ok() {
            drop(options.check_for_view(true, Order::Collated));
        }
    }
}

/// Never panics on a request of an index or of documents by selector, followed by a document, each
/// on a line. A document that passes is in the ranges that are read of every index that can answer, and
/// passes no less where its members are looked up by name.
pub fn find(data: &[u8]) {
    let mut lines = data.splitn(3, |byte| *byte == b'\n');
    let mut objects = std::iter::from_fn(|| lines.next().map(varve_json::parse_object));
    let (Some(Ok(index)), Some(Ok(request))) = (objects.next(), objects.next()) else {
        return;
    };
    let mut design = Object::new();
    if let Ok(index) = NewIndex::read(&index) {
        let name = index.name.clone().unwrap_or_default();
        drop(index.add_to(&name, &mut design));
    }
    drop(ViewGroup::read(&design));
    let Ok(options) = FindOptions::read(&request, DEFAULT_LIMIT) else {
        return;
    };
    let indexes = JsonIndex::of_design("_design/i", &design, false);
    let Ok(plan) = Plan::new(&indexes, &options) else {
        return;
    };
    drop(explain("d", &plan, &options));
    drop(plan.ranges_left(&options));
    if let (Some(Ok(document)), Some(index)) = (objects.next(), plan.index) {
        let document = Value::Object(document);
        let key = index.map.key(&document);
        let passes = options.selector.matches(&document);
        let node = options.selector.node();
        let indexed = node.passes(&Indexed::new(&document));
        assert_eq!(node.passes(&document), indexed);
        if let (Some(key), true) = (key, passes && !index.is_partial()) {
            let key = key_of(&key);
            let within = |range: &KeyRange| range.low <= key && key < range.high;
            assert!(plan.ranges.iter().any(within));
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

    const QUERIES: [&str; 3] = [
        "{\"index\":{\"fields\":[\"a\",{\"b.c\":\"asc\"}]},\"name\":\"n\"}\n\
         {\"selector\":{\"a\":{\"$in\":[1,\"x\",[2]]},\"$or\":[{\"b.c\":{\"$gt\":1}},{\"b\":{\"c\":null}}]},\
         \"fields\":[\"a\"],\"limit\":1}\n{\"a\":[2,1],\"b\":{\"c\":3}}",
        "{\"index\":{\"fields\":[\"a\"],\"partial_filter_selector\":{\"a\":{\"$regex\":\"^x+$\"}}}}\n\
         {\"selector\":{\"a\":{\"$beginsWith\":\"x\"},\"$nor\":[{\"c\":{\"$mod\":[2,1]}}]},\
         \"use_index\":[\"i\",\"\"],\"sort\":[{\"a\":\"desc\"}]}\n{\"a\":\"xx\",\"c\":2}",
        "{\"index\":{\"fields\":[]}}\n\
         {\"selector\":{\"a\":{\"$not\":{\"$elemMatch\":{\"$size\":2}}}},\"bookmark\":\"eyJpZCI6ImEifQ\"}\n\
         {\"a\":[[1]]}",
    ];

    #[test]
    fn saved_queries_do_no_harm() {
        for text in QUERIES {
            for end in 0..=text.len() {
                super::find(&text.as_bytes()[..end]);
            }
        }
    }

    proptest! {
        #[test]
        fn mutated_queries_do_no_harm(
            which in 0..QUERIES.len(),
            changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4),
        ) {
            let mut text = QUERIES[which].as_bytes().to_vec();
            for (at, byte) in changes {
                let at = at % text.len();
                text[at] = byte;
            }
            super::find(&text);
        }

        #[test]
        fn any_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            super::index_values(&bytes);
            super::requests(&bytes);
        }
    }
}

//! Promises for any bytes in place of a dirstate.

use super::{Parents, Table, v1, v2, v2_write};

/// Never panics; a dirstate that is read is written and read again as the same, in both formats.
pub fn dirstate_v1(data: &[u8]) {
    if let Ok((parents, table)) = v1::parse(data.to_vec()) {
        if !data.is_empty() {
            let again = v1::encode(&parents, &table).map(v1::parse);
            let again = again
                .and_then(Result::ok)
                .map(|(nodes, same)| (nodes, facts(&same)));
            assert_eq!(again, Some((parents, facts(&table))));
        }
        check_v2(&parents, &table);
    }
}

/// The same for the second format; the docket is followed by the data.
pub fn dirstate_v2(data: &[u8]) {
    let Ok(docket) = v2::Docket::parse(data) else {
        return;
    };
    let start = data.len().min(v2::at::ID + docket.id.len());
    if let Ok(table) = v2::parse(&docket, data[start..].to_vec()) {
        check_v2(&docket.parents, &table);
        let _ = v1::encode(&docket.parents, &table);
    }
}

type Fact = (Vec<u8>, super::Tracking, Option<Vec<u8>>);

fn facts(table: &Table) -> Vec<Fact> {
    let entries = table.iter().map(|(path, entry)| {
        let source = table.copies.get(path).filter(|source| !source.is_empty());
        (path.to_vec(), entry.tracking(), source.cloned())
    });
    entries.collect()
}

fn check_v2(parents: &Parents, table: &Table) {
    // `None` is the right answer to a path that does not fit.
    if let Some(encoded) = v2_write::encode(parents, table, b"0123abcd") {
        let docket = v2::Docket::parse(&encoded.docket);
        let again = docket.and_then(|docket| v2::parse(&docket, encoded.data));
        assert_eq!(again.map(|again| facts(&again)), Ok(facts(table)));
    }
}

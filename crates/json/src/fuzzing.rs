//! Bodies of the fuzz targets; a plain test runs them over mutated inputs.

use crate::{collate, parse, term, write};

/// Never panics; what parses, writes back to what parses equal, and has a digest and a sort key.
pub fn json(data: &[u8]) {
    let Ok(value) = parse(data) else { return };
    let mut written = Vec::new();
    write(&value, &mut written);
    let again = parse(&written);
    let mut rewritten = Vec::new();
    if let Ok(again) = &again {
        write(again, &mut rewritten);
    }
    // Texts are compared, for -0.0 is written as 0.0.
    assert_eq!(written, rewritten, "{again:?}");
    let mut key = Vec::new();
    collate::sort_key(&value, &mut key);
    if let Some(object) = value.as_object() {
        term::revision_digest(false, None, object, &[]);
    }
}

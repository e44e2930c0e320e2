//! Bodies of the fuzz targets; a plain test runs them over mutated inputs.

use crate::{Document, Request, Terms, Value, collate, parse, write};

/// Never panics; a parsed value is equal after writing and parsing, and has a sort key. A document read without a tree
/// of values is the same as one read with it, and so are many of them.
pub fn json(data: &[u8]) {
    let is_special = |name: &str| name.starts_with("_i");
    let (parsed, document) = (parse(data), Document::parse(data, is_special));
    match (&parsed, &document) {
        (Ok(Value::Object(object)), found) => {
            assert_eq!(
                found.as_ref(),
                Ok(&Document::new(object.clone(), is_special))
            );
        }
        (Ok(_), found) => assert!(found.is_err()),
        (Err(error), found) => assert_eq!(found.as_ref(), Err(error)),
    }
    let request = Request::parse(data, "d", is_special, Terms::AtOnce);
    let later = Request::parse(data, "d", is_special, Terms::OnDemand);
    let texts = |request: &Request| {
        let documents = request.documents.iter().flatten().flatten();
        let texts = documents.map(|document| document.body.text().to_vec());
        (texts.collect::<Vec<_>>(), request.rest.clone())
    };
    assert_eq!(request.as_ref().map(texts), later.as_ref().map(texts));
    let Ok(value) = parsed else {
        return assert_eq!(request.err(), parsed.err());
    };
    let documents = request.ok().and_then(|request| request.documents);
    let wanted = value.get("d").and_then(Value::as_array);
    assert_eq!(documents.map(|list| list.len()), wanted.map(<[Value]>::len));
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
}

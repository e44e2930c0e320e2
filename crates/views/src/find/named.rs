//! Documents of which only the named fields are read.

use crate::selector::{FieldPath, Node};
use varve_json::scan::{Member, Span, members};
use varve_json::{Object, Value, parse};

/// Where more members are named, whole documents are read.
const FEW: usize = 16;

/// Names of the members of documents that are needed; `None` if all of them are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named(Option<Vec<String>>);

impl Named {
    /// Members that selectors and paths name.
    pub(crate) fn of<'a>(
        selectors: impl Iterator<Item = &'a Node>,
        paths: impl Iterator<Item = &'a FieldPath>,
    ) -> Named {
        let mut names = Some(Vec::new());
        paths.for_each(|path| add(&mut names, path));
        selectors.for_each(|node| node.each(&mut |path, _| add(&mut names, path)));
        Named(names)
    }

    /// The named members of a document, which is JSON text as this program wrote it.
    pub(crate) fn read(&self, text: &[u8]) -> Value {
        self.read_members(text)
            .unwrap_or_else(|| parse(text).unwrap_or_default())
    }

    fn read_members(&self, text: &[u8]) -> Option<Value> {
        let names = self.0.as_ref()?;
        let text = std::str::from_utf8(text).ok()?;
        let mut read = Object::new();
        for Member { name, value } in members(text, Span::whole(text)?)? {
            let quoted = name.of(text);
            let inner = quoted.get(1..quoted.len() - 1)?;
            // A name with an escape may be any name.
            if inner.contains('\\') {
                return None;
            }
            if names.iter().any(|name| name == inner) {
                read.insert(inner, parse(value.of(text).as_bytes()).ok()?);
            }
        }
        Some(Value::Object(read))
    }
}

fn add(names: &mut Option<Vec<String>>, path: &FieldPath) {
    let Some(known) = names else { return };
    match path.parts().first() {
        Some(name) if known.contains(name) => {}
        Some(name) if known.len() < FEW => known.push(name.clone()),
        _ => *names = None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selector::Selector;

    fn named(selector: &str, paths: &[&str]) -> Named {
        let selector = Selector::compile(&parse(selector.as_bytes()).unwrap()).unwrap();
        let paths: Vec<FieldPath> = paths.iter().map(|path| FieldPath::new(path)).collect();
        Named::of([selector.node()].into_iter(), paths.iter())
    }

    #[test]
    fn named_members_are_read_and_no_others() {
        let named = named(
            r#"{"a.b":1,"$or":[{"c":2},{"a.d":{"$gt":3}}]}"#,
            &["e.f", "c"],
        );
        let text = r#"{"_id":"x","a":{"b":[1,{}]},"d":1,"c":"\n","e":null,"x":{"a":1}}"#;
        let read = varve_json::to_string(&named.read(text.as_bytes()));
        assert_eq!(read, r#"{"a":{"b":[1,{}]},"c":"\n","e":null}"#);
    }

    #[test]
    fn where_it_is_not_sure_all_is_read() {
        let whole = |named: &Named, text: &str| {
            assert_eq!(named.read(text.as_bytes()), parse(text.as_bytes()).unwrap());
        };
        whole(&named(r#"{"a":1}"#, &[]), r#"{"a":1,"b\n":2,"c":3}"#);
        let many: Vec<String> = (0..=FEW).map(|n| format!("f{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        whole(&named("{}", &many), r#"{"a":1,"f1":2}"#);
        assert_eq!(
            named("{}", &many[1..]).read(br#"{"a":1,"f1":2}"#).get("a"),
            None
        );
    }
}

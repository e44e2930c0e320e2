//! The identity of a replication: the name of its checkpoints.
//!
//! An identity is the MD5, in hexadecimal, of a list in the Erlang external term format (version 4 of CouchDB's identities):
//!
//! ```text
//! [ server UUID,
//!   {remote, user | undefined, host, port | default, path, [{header, value}…], undefined},   source
//!   {remote, …},                                                                            target
//!   … nothing | filter, params | [id…] | selector ]
//! ```
//! Texts of the two tuples and ids are lists of characters; the UUID, the filter's code and all within JSON are binaries.
//! The filter is the code of its function, so that another function begins anew.

use super::{Endpoint, ReplicationRequest, Selection};
use md5::{Digest, Md5};
use std::fmt::Write;
use varve_json::term::{self, TermWriter};
use varve_json::{Object, Value};

/// A replication's identity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplicationId {
    /// 32 hexadecimal digits; `_local/BASE` is the checkpoint.
    pub base: String,
    /// `+continuous` and `+create_target`, as far as they hold.
    pub extension: String,
}

impl std::fmt::Display for ReplicationId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.base, self.extension)
    }
}

impl ReplicationId {
    /// The identity of a request to the server with this UUID.
    ///
    /// `code` is the source's function for [`Selection::Filter`], unless its name begins with `_`; `selector` is the
    /// selector of [`Selection::Selector`] with all its operators written out.
    pub fn new(
        request: &ReplicationRequest,
        uuid: &str,
        code: Option<&str>,
        selector: Option<&Value>,
    ) -> ReplicationId {
        let mut items = TermWriter::list();
        items.binary(uuid.as_bytes());
        endpoint(&request.source, &mut items);
        endpoint(&request.target, &mut items);
        match &request.options.selection {
            Selection::All => {}
            Selection::Ids(ids) => {
                let mut list = TermWriter::list();
                ids.iter().for_each(|id| list.characters(id));
                items.item(list);
            }
            Selection::Filter { name, params } => {
                items.binary(code.map_or(name.as_str(), str::trim).as_bytes());
                items.value(&Value::Object(params.clone()));
            }
            Selection::Selector(given) => {
                let given = Value::Object(given.clone());
                items.value(&sorted(selector.unwrap_or(&given)));
            }
        }
        let options = &request.options;
        if options.winning_revs_only {
            items.binary(b"winning_revs_only");
        }
        let mut base = String::new();
        for byte in Md5::digest(items.finish(&[term::VERSION])) {
            let _ = write!(base, "{byte:02x}");
        }
        let named = [
            ("+continuous", options.continuous),
            ("+create_target", options.create_target),
        ];
        let extension = named.iter().filter(|(_, holds)| *holds);
        ReplicationId {
            base,
            extension: extension.map(|(name, _)| *name).collect(),
        }
    }

    /// The id of the checkpoint in both databases.
    pub fn checkpoint(&self) -> String {
        format!("_local/{}", self.base)
    }
}

fn endpoint(endpoint: &Endpoint, out: &mut TermWriter) {
    let mut fields = TermWriter::tuple();
    fields.atom("remote");
    match &endpoint.login {
        Some(login) => fields.characters(&login.user),
        None => fields.atom("undefined"),
    }
    fields.characters(endpoint.url.host_str().unwrap_or_default());
    match endpoint.unusual_port() {
        Some(port) => fields.value(&Value::from(u64::from(port))),
        None => fields.atom("default"),
    }
    fields.characters(&path_and_query(endpoint));
    let mut headers = TermWriter::list();
    for (name, value) in &endpoint.headers {
        let mut pair = TermWriter::tuple();
        pair.characters(name);
        pair.characters(value);
        headers.item(pair);
    }
    fields.item(headers);
    fields.atom("undefined");
    out.item(fields);
}

fn path_and_query(endpoint: &Endpoint) -> String {
    match endpoint.url.query() {
        Some(query) => format!("{}?{query}", endpoint.url.path()),
        None => endpoint.url.path().to_owned(),
    }
}

/// The same value with the members of all objects in order of their names. The depth is bounded by the parser's.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let members = object.iter();
            let mut members: Vec<_> = members
                .map(|(name, value)| (name.to_owned(), sorted(value)))
                .collect();
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(Object::from_iter(members))
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Parsed;
    use super::*;
    use varve_config::Replicator;

    fn request(text: &str) -> ReplicationRequest {
        let members = varve_json::parse_object(text.as_bytes()).unwrap();
        match ReplicationRequest::parse(&members, &Replicator::default(), None) {
            Ok(Parsed::Start(request)) => *request,
            other => panic!("{other:?}"),
        }
    }

    fn id(text: &str) -> ReplicationId {
        ReplicationId::new(&request(text), "0123", None, None)
    }

    /// The term by hand, byte for byte.
    #[test]
    fn the_identity_hashes_a_term_of_the_server_and_both_ends() {
        let term = [
            b"\x83l\0\0\0\x03m\0\0\0\x040123".as_slice(),
            b"h\x07d\0\x06remotek\0\x03adak\0\x01ad\0\x07defaultk\0\x03/x/jd\0\x09undefined",
            b"h\x07d\0\x06remoted\0\x09undefinedk\0\x01bb\0\0\x17\x61k\0\x03/y/",
            b"l\0\0\0\x01h\x02k\0\x01Hk\0\x01vjd\0\x09undefinedj",
        ]
        .concat();
        let expected: String = Md5::digest(term)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        let text = r#"{"source":"http://ada:secret@a/x","target":{"url":"https://b:5985/y","headers":{"H":"v"}},"continuous":true}"#;
        let found = id(text);
        assert_eq!(found.base, expected);
        assert_eq!(found.to_string(), format!("{expected}+continuous"));
    }

    #[test]
    fn passwords_and_the_order_of_members_do_not_count_and_selections_do() {
        let with = |more: &str| {
            id(&format!(
                r#"{{"source":"http://u:1@a/x","target":"http://b/y"{more}}}"#
            ))
            .base
        };
        let plain = with("");
        let other = id(r#"{"source":"http://u:2@a:5984/x/","target":"http://b/y/"}"#);
        assert_eq!(plain, other.base);
        assert_eq!(
            with(r#","selector":{"a":1,"b":{"c":2,"d":3}}"#),
            with(r#","selector":{"b":{"d":3,"c":2},"a":1}"#)
        );
        let differing = [
            "",
            r#","selector":{"a":1}"#,
            r#","doc_ids":["a"]"#,
            r#","doc_ids":["a","b"]"#,
            r#","filter":"d/f""#,
            r#","filter":"d/f","query_params":{"k":"1"}"#,
            r#","winning_revs_only":true"#,
        ];
        let mut ids: Vec<String> = differing.iter().map(|more| with(more)).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), differing.len());
    }

    #[test]
    fn another_function_of_the_same_name_is_another_replication() {
        let request = request(r#"{"source":"http://a/x","target":"http://b/y","filter":"d/f"}"#);
        let of = |code| ReplicationId::new(&request, "u", Some(code), None).base;
        assert_eq!(of("function() {}"), of(" function() {}\n"));
        assert_ne!(of("function() {}"), of("function(doc) {}"));
    }
}

//! Values as the messages of CouchDB show them: terms of Erlang.

use varve_json::Value;

/// With texts as texts: `{[{<<"a">>,<<"asc">>}]}`.
pub(crate) fn of_texts(value: &Value) -> String {
    write(value, &|text, out| {
        if !text.is_empty() {
            out.push_str(&varve_json::to_string(&Value::from(text)));
        }
    })
}

/// With texts as their bytes: `{[{<<97>>,<<97,115,99>>}]}`.
pub(crate) fn of_bytes(value: &Value) -> String {
    write(value, &|text, out| {
        let bytes: Vec<_> = text.bytes().map(|byte| byte.to_string()).collect();
        out.push_str(&bytes.join(","));
    })
}

type WriteText = dyn Fn(&str, &mut String);

fn write(value: &Value, write_text: &WriteText) -> String {
    let mut out = String::new();
    push(value, write_text, &mut out);
    out
}

/// Recursion is bounded by the depth that the parser accepts.
fn push(value: &Value, write_text: &WriteText, out: &mut String) {
    match value {
        Value::String(text) => push_text(text, write_text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                push(item, write_text, out);
            }
            out.push(']');
        }
        Value::Object(object) => {
            out.push_str("{[");
            for (index, (name, member)) in object.iter().enumerate() {
                out.push_str(if index > 0 { ",{" } else { "{" });
                push_text(name, write_text, out);
                out.push(',');
                push(member, write_text, out);
                out.push('}');
            }
            out.push_str("]}");
        }
        other => out.push_str(&varve_json::to_string(other)),
    }
}

fn push_text(text: &str, write_text: &WriteText, out: &mut String) {
    out.push_str("<<");
    write_text(text, out);
    out.push_str(">>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_shown_as_texts_or_as_bytes() {
        let value = varve_json::parse(br#"{"a":["\"",1.5,null],"b":{}}"#).unwrap();
        assert_eq!(
            of_texts(&value),
            r#"{[{<<"a">>,[<<"\"">>,1.5,null]},{<<"b">>,{[]}}]}"#
        );
        assert_eq!(
            of_bytes(&value),
            "{[{<<97>>,[<<34>>,1.5,null]},{<<98>>,{[]}}]}"
        );
        assert_eq!(of_texts(&Value::from("")), "<<>>");
    }
}

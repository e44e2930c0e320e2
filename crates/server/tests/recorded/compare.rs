//! Permitted differences between CouchDB's answer and ours: sequence strings, times, sizes, names.

use serde_json::Value;

use crate::client::Reply;

/// Members whose values are the server's own.
const OWN: &[&str] = &[
    "instance_start_time",
    "sizes",
    "uuid",
    "uuids",
    "git_sha",
    "vendor",
    "features",
    "all_nodes",
    "cluster_nodes",
    "signature",
    "collator_versions",
    "ref",
    "disk_format_version",
    "waiting_commit",
    "execution_time_ms",
];

/// Members that hold a sequence: a number, a dash, and something opaque.
const SEQUENCES: &[&str] = &["seq", "last_seq", "update_seq", "purge_seq"];

/// All differences between the answer and the recording; empty if they are the same.
///
/// `same_updates` says whether the database has seen as many updates as CouchDB's had, so that
/// sequence numbers are compared too.
pub fn diff(recorded: &Value, got: &Reply, same_updates: bool) -> Vec<String> {
    let mut found = Vec::new();
    if recorded["status"] == 500 {
        check_refusal(got, &mut found);
        return found;
    }
    if recorded["status"] != got.status {
        found.push(format!(
            "status {} instead of {}: {}",
            got.status, recorded["status"], got.body
        ));
        return found;
    }
    let masked = if recorded["answer"].is_object() || recorded["answer"].is_array() {
        compare_json(recorded, got, same_updates, &mut found)
    } else {
        compare_text(recorded, got, &mut found)
    };
    compare_headers(recorded, got, masked, &mut found);
    found
}

/// Where CouchDB fell over, a clear refusal is wanted.
fn check_refusal(got: &Reply, found: &mut Vec<String>) {
    let clear = got.status == 400
        && serde_json::from_str::<Value>(&got.body).is_ok_and(|answer| {
            let text = |name: &str| answer[name].as_str().is_some_and(|text| !text.is_empty());
            text("error") && text("reason")
        });
    if !clear {
        found.push(format!("no clear 400: {} {}", got.status, got.body));
    }
}

/// Returns whether something of the server's own was in it, so that lengths may differ.
fn compare_json(
    recorded: &Value,
    got: &Reply,
    same_updates: bool,
    found: &mut Vec<String>,
) -> bool {
    let Ok(mut answer) = serde_json::from_str::<Value>(&got.body) else {
        found.push(format!("no JSON: {}", got.body));
        return true;
    };
    let mut expected = recorded["answer"].clone();
    let masked = mask(&mut expected);
    mask(&mut answer);
    take_additions(&mut answer);
    let (mut expected, mut answer) = (expected.to_string(), answer.to_string());
    if !same_updates {
        (expected, answer) = (without_updates(&expected), without_updates(&answer));
    }
    if expected != answer {
        found.push(format!("expected {expected}\n         got {answer}"));
    }
    if !got.body.ends_with('\n') {
        found.push("the body has no newline at its end".to_owned());
    }
    masked
}

/// Takes out members that CouchDB does not have: which functions run compiled.
fn take_additions(answer: &mut Value) {
    if let Some(index) = answer.get_mut("view_index").and_then(Value::as_object_mut) {
        index.remove("compiled");
    }
}

/// Texts, and feeds of one JSON object a line.
fn compare_text(recorded: &Value, got: &Reply, found: &mut Vec<String>) -> bool {
    let expected = match &recorded["answer"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let (mut expected_masked, mut got_masked) = (String::new(), String::new());
    mask_lines(&expected, &mut expected_masked);
    mask_lines(&got.body, &mut got_masked);
    // The recording parsed JSON texts, and read bodies of JSON strings without their newline.
    let quoted = format!("{}\n", Value::String(expected.clone()));
    let scalar = !recorded["answer"].is_string() && got.body == format!("{expected}\n");
    if expected_masked != got_masked && got.body != quoted && !scalar {
        found.push(format!(
            "expected {expected_masked:?}\n         got {got_masked:?}"
        ));
    }
    expected_masked != expected || recorded["request"]["method"] == "HEAD"
}

fn mask_lines(text: &str, out: &mut String) {
    for line in text.split_inclusive('\n') {
        let (prefix, rest) = match line.find(['{', '"']) {
            Some(at) if line.starts_with("data: ") || line.starts_with("id: ") || at == 0 => {
                line.split_at(at)
            }
            _ => ("", line),
        };
        match serde_json::from_str::<Value>(rest.trim_end()) {
            Ok(mut value) if value.is_object() => {
                mask(&mut value);
                out.push_str(&format!("{prefix}{value}\n"));
            }
            Ok(Value::String(text)) => out.push_str(&format!("{prefix}{}\n", shape(&text))),
            _ => out.push_str(line),
        }
    }
}

/// Replaces values that are the server's own; returns whether there was any.
fn mask(value: &mut Value) -> bool {
    match value {
        Value::Object(members) => {
            let mut any = members.shift_remove("ref").is_some();
            for (name, member) in members.iter_mut() {
                let own = OWN.contains(&name.as_str());
                let sequence = SEQUENCES.contains(&name.as_str()) && member.is_string();
                any |= own || sequence || mask(member);
                if sequence {
                    *member = Value::String(shape(member.as_str().unwrap_or_default()));
                } else if own {
                    *member = Value::Null;
                } else if name == "bookmark" && *member != "nil" {
                    *member = Value::String("…".to_owned());
                    any = true;
                } else if let Some(cut) = member.as_str().and_then(without_digest) {
                    *member = Value::String(cut);
                } else if let Some(cut) = member.as_str().and_then(without_engine_text) {
                    *member = Value::String(cut);
                    any = true;
                }
            }
            any
        }
        Value::Array(items) => items.iter_mut().map(mask).filter(|own| *own).count() > 0,
        _ => false,
    }
}

/// The number of a sequence stays, the part behind the dash is opaque.
fn shape(sequence: &str) -> String {
    match sequence.split_once('-') {
        Some((number, opaque)) if number.parse::<u64>().is_ok() && !opaque.is_empty() => {
            format!("{number}-…")
        }
        _ => sequence.to_owned(),
    }
}

/// Leaves out the numbers of sequences.
fn without_updates(text: &str) -> String {
    let mut out = String::new();
    for (index, part) in text.split("-…").enumerate() {
        if index > 0 {
            let digits = out
                .trim_end_matches(|digit: char| digit.is_ascii_digit())
                .len();
            out.truncate(digits);
            out.push('…');
        }
        out.push_str(part);
    }
    out
}

/// A name that ends in a digest, without the digest.
fn without_digest(name: &str) -> Option<String> {
    let (start, digest) = name.split_at_checked(name.len().checked_sub(40)?)?;
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_digest = digest.bytes().all(is_hex) && ["", "_design/"].contains(&start);
    is_digest.then(|| format!("{start}…"))
}

/// A compilation error without the words of the JavaScript engine.
fn without_engine_text(reason: &str) -> Option<String> {
    let at = reason.find("failed: SyntaxError: ")?;
    Some(reason[..at].to_owned())
}

fn compare_headers(recorded: &Value, got: &Reply, masked: bool, found: &mut Vec<String>) {
    let empty = serde_json::Map::new();
    let expected = recorded["headers"].as_object().unwrap_or(&empty);
    for (name, value) in expected {
        let value = value.as_str().unwrap_or_default();
        let ours = got.header(name);
        let same = match (name.as_str(), ours) {
            // An answer without a body needs no length.
            ("content-length", None) => got.status == 304,
            // How a body is framed is between the server and the connection.
            ("transfer-encoding", None) => got.header("content-length").is_some(),
            (_, None) => false,
            ("content-length", Some(_)) if masked => true,
            ("location", Some(ours)) => path_of(ours) == path_of(value),
            ("etag", Some(ours)) if is_opaque(value) => ours.starts_with('"') && ours.len() > 2,
            ("set-cookie", Some(ours)) => cookie_shape(ours) == cookie_shape(value),
            (_, Some(ours)) => ours == value,
        };
        if !same {
            found.push(format!("header {name}: expected {value:?}, got {ours:?}"));
        }
    }
    // Views have entity tags here, as CouchDB's had before it had clusters.
    let has_rows = recorded["answer"]["rows"].is_array();
    let not_expected = ["location", "content-range", "content-encoding", "etag"];
    for name in not_expected.iter().take(if has_rows { 3 } else { 4 }) {
        if let (None, Some(ours)) = (expected.get(*name), got.header(name)) {
            found.push(format!("header {name}: expected none, got {ours:?}"));
        }
    }
}

/// An ETag that CouchDB made of a digest: capitals and digits.
fn is_opaque(etag: &str) -> bool {
    let inner = etag.trim_matches('"');
    inner.len() > 20
        && inner
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
}

fn path_of(location: &str) -> &str {
    let rest = location.strip_prefix("http://").unwrap_or(location);
    rest.find('/').map_or(rest, |at| &rest[at..])
}

/// Names of a cookie's attributes, and whether it has a value.
fn cookie_shape(cookie: &str) -> Vec<String> {
    cookie
        .split("; ")
        // CouchDB sets the attribute only where `same_site` says so.
        .filter(|part| *part != "SameSite=Lax")
        .map(|part| match part.split_once('=') {
            Some((name @ ("AuthSession" | "Expires"), value)) => {
                format!("{name}={}", if value.is_empty() { "" } else { "…" })
            }
            _ => part.to_owned(),
        })
        .collect()
}

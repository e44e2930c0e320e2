//! Revision ids and attachments that CouchDB 3.5.0 gave.

use crate::{attaching, memory, put};
use varve_docdb::{DocumentText, Edit, EditError, Mode, Rev, write_attachment_stubs};
use varve_json::{Object, Value};

fn recorded(part: &str) -> Vec<Value> {
    let bytes = include_bytes!("../../../testkit/recorded/couchdb-revisions.json");
    let recorded = varve_json::parse(bytes).unwrap();
    recorded.get(part).unwrap().as_array().unwrap().to_vec()
}

#[test]
fn the_recorded_chain_of_edits_gives_the_recorded_answers() {
    let db = memory();
    let mut conflicts = 0;
    for case in recorded("chains") {
        let Some(sent) = case.get("sent").and_then(Value::as_str) else {
            continue;
        };
        let edit = Edit::parse(Some("chain"), sent.as_bytes()).unwrap();
        let outcome = db.update_one(edit, Mode::Interactive).unwrap();
        let answer = case.get("answer").unwrap();
        match answer.get("rev").and_then(Value::as_str) {
            Some(rev) => assert_eq!(outcome.unwrap().rev.to_string(), rev, "{sent}"),
            None => {
                assert_eq!(outcome, Err(EditError::Conflict), "{sent}");
                conflicts += 1;
            }
        }
    }
    assert_eq!(conflicts, 3);
}

#[test]
fn recorded_attachments_have_their_revisions_and_stubs() {
    let db = memory();
    for case in recorded("attachments") {
        let shown = case.get("get").unwrap();
        let id = shown.get("_id").and_then(Value::as_str).unwrap();
        let edit = match case.get("sent").and_then(Value::as_str) {
            Some(sent) => Edit::parse(Some(id), sent.as_bytes()).unwrap(),
            None => {
                let data = ("image/png", &b"\x89PNG...."[..]);
                attaching(&db, id, None, "file.png", Some(data))
            }
        };
        let rev = db.update_one(edit, Mode::Interactive).unwrap().unwrap().rev;
        assert_eq!(
            Some(rev.to_string().as_str()),
            case.get("rev").and_then(Value::as_str)
        );
        let snapshot = db.snapshot();
        let document = snapshot.document(id).unwrap().unwrap();
        let (rev, stored) = document.winner().unwrap();
        let (mut body, mut text) = (Vec::new(), Vec::new());
        snapshot.body(stored, &mut body).unwrap();
        let attachments = snapshot.attachments(stored).unwrap();
        let mut document = DocumentText::begin(id, rev, false, &body, &mut text);
        document.member("_attachments", |out| {
            write_attachment_stubs(&attachments, false, out)
        });
        document.end();
        assert_eq!(varve_json::parse(&text).unwrap(), *shown);
    }
}

#[test]
fn removing_the_only_attachment_gives_the_recorded_revision() {
    // From `couchdb-answers.json`: att2/f.bin is put and deleted.
    let db = memory();
    let data = ("application/octet-stream", &b"0123456789"[..]);
    let edit = attaching(&db, "att2", None, "f.bin", Some(data));
    let rev: Rev = db.update_one(edit, Mode::Interactive).unwrap().unwrap().rev;
    assert_eq!(rev.to_string(), "1-f63ee81055a42750775436f78a73d8d1");
    let edit = attaching(&db, "att2", Some(&rev), "f.bin", None);
    let rev = db.update_one(edit, Mode::Interactive).unwrap().unwrap().rev;
    assert_eq!(rev.to_string(), "2-5ecf4dc148c50e3d4271d0c7941feb7f");
}

#[test]
fn every_recorded_body_gets_its_revision() {
    let db = memory();
    for (number, case) in recorded("bodies").into_iter().enumerate() {
        let mut body: Object =
            varve_json::parse_object(case.get("body").unwrap().as_str().unwrap().as_bytes())
                .unwrap();
        body.insert("_id", format!("d{number}"));
        let text = varve_json::to_string(&Value::Object(body));
        // The text was written anew, which keeps everything but the sign of -0.0.
        if text.contains(":0.0") {
            continue;
        }
        let rev = put(&db, &text).unwrap().rev.to_string();
        assert_eq!(Some(rev.as_str()), case.get("rev").and_then(Value::as_str));
    }
}

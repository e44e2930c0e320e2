//! `--keep`: changes are followed until the operator ends it.

use super::{command, fill, leaves, proxy};
use crate::peers::Site;
use serde_json::json;
use std::io::{BufRead, BufReader, Read};
use varve_testkit::http::Fault;

#[test]
fn changes_and_new_databases_are_followed_until_an_interruption() {
    let (from, to) = (Site::new(), Site::new());
    let old = from.serve();
    let mut admin = old.admin();
    fill(&mut admin, "a", 200);
    let between = proxy(&old, |_, _| Fault::None);
    let mut child = command(&between.url(""), to.path(), &["--keep"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut words = String::new();
    let mut wait_for = |words: &mut String, text: &str| {
        while !words.contains(text) {
            assert!(lines.read_line(words).unwrap() > 0, "{words}");
        }
    };
    wait_for(&mut words, "following changes; Ctrl-C ends it\n");
    let before = between.count("POST /a/_bulk_get");
    admin.put("/a/later", &json!({"x": 1})).expect_status(201);
    fill(&mut admin, "later", 50);
    wait_for(&mut words, "later: new at the server\n");
    // They are copied before the interruption.
    while between.count("POST /later/_bulk_get") == 0
        || between.count("POST /a/_bulk_get") == before
    {
        assert!(child.try_wait().unwrap().is_none(), "{words}");
        std::thread::yield_now();
    }
    // Written last: the end copies it.
    admin.put("/a/last", &json!({})).expect_status(201);
    let id = child.id().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(killed.unwrap().success());
    lines.read_to_string(&mut words).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(0), "{words}");
    for line in [
        "\na: in step up to 202-",
        "\nlater: in step up to 50-",
        "\nboth sides have the same documents and leaf revisions\n",
    ] {
        assert!(words.contains(line), "{line:?} in {words}");
    }
    let server = to.serve();
    for (name, count) in [("a", 202), ("later", 50)] {
        let here = leaves(&mut server.admin(), name);
        assert_eq!(here.len(), count);
        assert_eq!(here, leaves(&mut admin, name));
    }
}

//! Compactions in place, with real kills and beside real programs that copy the file.

mod copies;
mod kills;

use super::Site;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use varve_testkit::http::Client;
use varve_testkit::repos::noise;
use varve_testkit::varve::{Server, configure};

/// Every database is large enough, and no compaction rests.
const SETTINGS: &str = "[compaction]\nin_place_from = 1\nshare = 100\n";
/// Documents that are never edited.
const COLD: usize = 6000;
/// Bytes of noise in one of them, and in one that is edited.
const SHORT: usize = 500;
const LONG: usize = 12_000;

/// Which text of a document is there.
#[derive(Clone, Debug)]
struct Version {
    n: u64,
    rev: String,
}

/// Documents by their ids.
type Documents = BTreeMap<String, Version>;

/// The text that a document has at its edit number `n`: it says whose it is, and no codec makes it
/// much shorter.
fn text(id: &str, n: u64) -> String {
    let seed = id.bytes().fold(n as u32 + 1, |seed, byte| {
        seed.wrapping_mul(31).wrapping_add(byte.into())
    });
    let len = if id.starts_with("hot") { LONG } else { SHORT };
    let mut text = String::with_capacity(2 * len);
    for byte in noise(len, seed) {
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

fn document(id: &str, n: u64) -> Value {
    json!({"_id": id, "n": n, "text": text(id, n)})
}

fn revision(answer: &Value) -> String {
    let rev = answer["rev"].as_str();
    rev.expect("a success has a revision").to_owned()
}

/// A site whose database is cold to its end.
fn cold() -> (Site, Server, Documents) {
    let site = Site::new();
    configure(site.path(), SETTINGS);
    let server = site.serve();
    let mut admin = server.admin();
    admin.put("/ledger", &Value::Null).expect_status(201);
    let ids: Vec<_> = (0..COLD).map(|n| format!("cold-{n:05}")).collect();
    let mut documents = Documents::new();
    for ids in ids.chunks(500) {
        let docs: Vec<_> = ids.iter().map(|id| document(id, 0)).collect();
        let made = admin.post("/ledger/_bulk_docs", &json!({"docs": docs}));
        let made = made.expect_status(201).json();
        for (id, item) in ids.iter().zip(made.as_array().unwrap()) {
            let rev = revision(item);
            documents.insert(id.clone(), Version { n: 0, rev });
        }
    }
    (site, server, documents)
}

/// Edits a document; `Ok` once that was answered with success.
fn edit(client: &mut Client, id: &str, known: &mut Documents) -> std::io::Result<()> {
    let before = known.get(id);
    let n = before.map_or(0, |version| version.n + 1);
    let mut body = document(id, n);
    if let Some(version) = before {
        body["_rev"] = json!(version.rev);
    }
    let json = [("Content-Type", "application/json")];
    let path = format!("/ledger/{id}");
    let answer = client.request("PUT", &path, &json, body.to_string().as_bytes())?;
    assert_eq!(answer.status, 201, "{path}: {}", answer.text());
    let rev = revision(&answer.json());
    known.insert(id.to_owned(), Version { n, rev });
    Ok(())
}

/// All known documents are there, at the known edit or at the one after it, which was not
/// answered; and each has the text of its edit. Returns the documents found.
fn check(server: &Server, known: &Documents) -> Documents {
    let mut client = server.admin();
    let all = client.get("/ledger/_all_docs?include_docs=true");
    let all = all.expect_status(200).json();
    let mut found = Documents::new();
    for row in all["rows"].as_array().unwrap() {
        let id = row["id"].as_str().unwrap();
        let n = row["doc"]["n"].as_u64();
        let n = n.unwrap_or_else(|| panic!("{id} has no body: {row}"));
        assert_eq!(row["doc"]["text"], text(id, n), "{id} at edit {n}");
        let rev = revision(&row["value"]);
        assert_eq!(row["doc"]["_rev"], rev);
        found.insert(id.to_owned(), Version { n, rev });
    }
    for (id, version) in known {
        let now = found.get(id);
        let now = now.unwrap_or_else(|| panic!("{id} was acknowledged and is lost"));
        let is_next = now.n == version.n + 1;
        assert!(
            now.rev == version.rev || is_next,
            "{id}: {now:?}, acknowledged {version:?}"
        );
    }
    let changes = client.get("/ledger/_changes").expect_status(200).json();
    assert_eq!(changes["results"].as_array().unwrap().len(), found.len());
    found
}

/// Has the database compacted and waits until it is.
fn compact(server: &Server) {
    let mut admin = server.admin();
    let json = [("Content-Type", "application/json")];
    let asked = admin.request("POST", "/ledger/_compact", &json, b"");
    asked.unwrap().expect_status(202);
    let info = |admin: &mut Client| admin.get("/ledger").expect_status(200).json();
    while info(&mut admin)["compact_running"] != false {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Which file it is.
fn inode(file: &Path) -> u64 {
    std::fs::metadata(file).unwrap().ino()
}

/// Whether parts of a file take no room.
fn has_holes(file: &Path) -> bool {
    let found = std::fs::metadata(file).unwrap();
    found.blocks() * 512 < found.len()
}

/// `varve verify` finds nothing wrong with a database.
fn verify(site: &Site) {
    let file = site.database_file("ledger");
    let run = Command::new(crate::VARVE).arg("verify").arg(file).output();
    let run = run.unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}");
}

//! Damaged and cut files: an error that names file, place and reason; never a crash, never wrong
//! bytes, and no harm to anything else that is served.

use super::Site;
use serde_json::{Value, json};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use varve_testkit::peers::hg;
use varve_testkit::repos::{self, DEFAULT, SPLIT_FILE, noise};
use varve_testkit::varve::{Server, configure};

const DOCS: usize = 400;

fn body(n: usize) -> Value {
    json!({"_id": format!("d{n:04}"), "n": n, "text": format!("text {n} ").repeat(40)})
}

/// A site with a database `victim` of [`DOCS`] documents and a database `other`, not running.
fn site() -> Site {
    let (site, server) = running();
    assert!(server.stop("TERM").status.success());
    site
}

/// The same while it is served.
fn running() -> (Site, Server) {
    let site = Site::new();
    let server = site.serve();
    let mut admin = server.admin();
    for name in ["victim", "other"] {
        admin
            .put(&format!("/{name}"), &Value::Null)
            .expect_status(201);
    }
    for batch in 0..4 {
        let docs: Vec<Value> = (batch * 100..(batch + 1) * 100).map(body).collect();
        admin
            .post("/victim/_bulk_docs", &json!({"docs": docs}))
            .expect_status(201);
    }
    admin
        .put("/other/safe", &json!({"kept": true}))
        .expect_status(201);
    drop(admin);
    (site, server)
}

/// Reads every document; all answers must be right. Returns the errors.
fn read_all(server: &mut Server) -> Vec<String> {
    let mut admin = server.admin();
    let mut errors = Vec::new();
    let mut note = |answer: varve_testkit::http::Answer| match answer.status {
        200 => {}
        404 => errors.push("404".to_owned()),
        _ => errors.push(answer.text()),
    };
    for n in 0..DOCS {
        let answer = admin.get(&format!("/victim/d{n:04}"));
        if answer.status == 200 {
            let mut doc = answer.json();
            doc.as_object_mut().unwrap().remove("_rev");
            assert_eq!(doc, body(n), "a damaged document was served as good");
        }
        note(answer);
    }
    for path in [
        "/victim",
        "/victim/_all_docs",
        "/victim/_changes?include_docs=true",
    ] {
        // A list may break off in its middle, because its first rows had been sent.
        if let Ok(answer) = admin.request("GET", path, &[], b"") {
            note(answer);
        } else {
            admin = server.admin();
        }
    }
    assert!(server.is_running(), "{}", server.printed());
    let safe = server.admin().get("/other/safe").expect_status(200).json();
    assert_eq!(safe["kept"], true);
    errors
}

/// Changes some bytes of a file.
fn damage(path: &Path, share: f64) {
    let mut bytes = std::fs::read(path).unwrap();
    let at = (bytes.len() as f64 * share) as usize;
    for (byte, noise) in bytes[at..].iter_mut().zip(noise(64, 9)) {
        *byte ^= noise | 1;
    }
    std::fs::write(path, bytes).unwrap();
}

/// Keeps only the first part of a file.
fn cut(path: &Path, share: f64) {
    let len = std::fs::metadata(path).unwrap().len() as f64;
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_len((len * share) as u64).unwrap();
}

#[test]
fn a_damaged_database_names_its_file_offset_and_reason() {
    for share in [0.0, 0.2, 0.5] {
        let site = site();
        let file = site.database_file("victim");
        damage(&file, share);
        let errors = read_all(&mut site.serve());
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        let reasons = ["is damaged at byte ", "is not a varve file"];
        let told = |e: &String| e.contains(&name) && reasons.iter().any(|r| e.contains(r));
        assert!(errors.iter().any(told), "damaged at {share}: {errors:?}");
    }
}

/// Damage in the last commit cannot be told from one that was torn while it was written, if no one
/// closed the database: the state before it is served.
#[test]
fn a_database_with_a_damaged_end_serves_the_commit_before() {
    for share in [0.8, 0.97] {
        let (site, server) = running();
        server.kill();
        damage(&site.database_file("victim"), share);
        let errors = read_all(&mut site.serve());
        assert!(errors.iter().all(|e| e == "404"), "{errors:?}");
        assert_eq!(errors.len(), 100);
    }
}

/// In one that was closed, damage hits its own place only.
#[test]
fn a_database_that_was_closed_loses_no_commit_to_damage() {
    let mut seen = 0;
    for share in [0.7, 0.75, 0.8] {
        let site = site();
        damage(&site.database_file("victim"), share);
        let errors = read_all(&mut site.serve());
        let told = |e: &String| e.contains("is damaged at byte ");
        assert!(errors.iter().all(told), "{errors:?}");
        assert!(errors.len() < 100, "{errors:?}");
        seen += errors.len();
    }
    assert!(seen > 0, "nothing of it was needed");
}

/// Flips a bit of a text that stands in a file as it is.
fn flip(path: &Path, text: &str) {
    let mut bytes = std::fs::read(path).unwrap();
    let mut places = bytes.windows(text.len());
    let at = places.position(|part| part == text.as_bytes()).unwrap();
    bytes[at] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

fn inode(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().ino()
}

/// Output of `varve verify` for a database, without the offsets in its file.
fn verified(site: &Site) -> Vec<String> {
    let file = site.database_file("victim");
    let run = Command::new(crate::VARVE).arg("verify").arg(file).output();
    let said = String::from_utf8(run.unwrap().stdout).unwrap();
    let lines = said.lines().filter(|line| line.contains("checksum"));
    let without_place = |line: &str| line.split(" at byte ").next().unwrap().to_owned();
    lines.map(without_place).collect()
}

#[test]
fn damaged_documents_are_as_damaged_after_a_compaction_which_names_them() {
    let site = Site::new();
    let settings = "[couchdb]\nfile_compression = none\n";
    configure(site.path(), settings);
    let server = site.serve();
    let mut admin = server.admin();
    admin.put("/victim", &Value::Null).expect_status(201);
    admin.put("/other", &Value::Null).expect_status(201);
    admin
        .put("/other/safe", &json!({"kept": true}))
        .expect_status(201);
    let docs: Vec<Value> = (0..DOCS).map(body).collect();
    let made = admin.post("/victim/_bulk_docs", &json!({"docs": docs}));
    made.expect_status(201);
    let kind = [("Content-Type", "application/octet-stream")];
    let attached = admin.request("PUT", "/victim/file/it", &kind, b"a needle");
    attached.unwrap().expect_status(201);
    assert!(server.stop("TERM").status.success());
    let file = site.database_file("victim");
    for text in ["text 77 text 77", "text 300 text 300", "a needle"] {
        flip(&file, text);
    }
    let before = verified(&site);
    let names = ["\"d0077\"", "\"d0300\"", "\"it\""];
    for (line, name) in before.iter().zip(names) {
        assert!(line.contains(name), "{line}");
    }
    assert_eq!(before.len(), names.len(), "{before:?}");
    // By itself it is not compacted then.
    let by_itself =
        "[smoosh]\nwait_secs = 0\n[smoosh.ratio_dbs]\nmin_size = 1\nmin_priority = 1.01\n";
    configure(site.path(), &format!("{settings}{by_itself}"));
    let server = site.serve();
    let id = inode(&file);
    server
        .admin()
        .put("/victim/new", &json!({}))
        .expect_status(201);
    let said = server.printed_with("compaction of victim: ");
    let told =
        "is not compacted by itself, because something cannot be read of 3 documents: \"d0077\"";
    assert!(said.contains(told), "{said}");
    assert_eq!(inode(&file), id);
    assert!(server.stop("TERM").status.success());
    configure(
        site.path(),
        &format!("{settings}[smoosh]\ndb_channels = none\n"),
    );
    let mut server = site.serve();
    let len = || std::fs::metadata(&file).unwrap().len();
    let old = len();
    let json = [("Content-Type", "application/json")];
    let asked = server
        .admin()
        .request("POST", "/victim/_compact", &json, b"");
    asked.unwrap().expect_status(202);
    let said = server.printed_with("compaction of victim: ");
    let told =
        "copied as it stands what cannot be read of 3 documents: \"d0077\", \"d0300\", \"file\"";
    assert!(said.contains(told), "{said}");
    assert!(len() < old, "{} bytes, then {}", old, len());
    let errors = read_all(&mut server);
    for name in ["d0077", "d0300"] {
        let told = |e: &String| e.contains(name) && e.contains("is damaged at byte ");
        assert!(errors.iter().any(told), "{errors:?}");
    }
    let attached = server.admin().request("GET", "/victim/file/it", &[], b"");
    assert!(attached.is_err() || attached.unwrap().status == 500);
    assert!(server.stop("TERM").status.success());
    assert_eq!(verified(&site), before);
}

#[test]
fn a_cut_database_never_stops_the_server() {
    let lengths = [0.0, 0.001, 0.1, 0.4, 0.75, 0.99];
    for share in lengths {
        let site = site();
        cut(&site.database_file("victim"), share);
        let errors = read_all(&mut site.serve());
        assert!(!errors.is_empty(), "cut to {share} and nothing was missing");
    }
}

/// Damages a file of a repository, which an error must name when the repository is cloned.
fn broken_repository(file: &str, break_it: impl Fn(&Path)) {
    let site = Site::new();
    let (hg, source) = (hg(), site.repository("broken"));
    repos::make(&hg, &source, DEFAULT);
    let good = site.repository("good");
    std::fs::create_dir_all(&good).unwrap();
    hg.ok(&good, &["init"]);
    repos::write(&good, "a", b"a\n");
    repos::commit(&hg, &good, "One");
    break_it(&source.join(".hg/store").join(file));
    let mut server = site.serve();
    let work = tempfile::tempdir().unwrap();
    let broken = server.url("/hg/broken");
    let said = hg.fails(work.path(), &["clone", "--pull", &broken, "broken"]);
    let told = said + &server.printed();
    // The index and the data file of one revlog count as one.
    let name = Path::new(file).file_stem().unwrap().to_str().unwrap();
    assert!(told.contains(name), "{told}");
    assert!(server.is_running());
    hg.ok(
        work.path(),
        &["clone", "--pull", &server.url("/hg/good"), "good"],
    );
    hg.ok(&work.path().join("good"), &["verify"]);
}

#[test]
fn damaged_revlogs_are_named() {
    for file in ["00changelog.i", "00manifest.i", "data/chain.txt.i"] {
        broken_repository(file, |path| damage(path, 0.6));
    }
    broken_repository(&format!("data/{SPLIT_FILE}.d"), |path| damage(path, 0.3));
}

#[test]
fn cut_revlogs_are_named() {
    let data = format!("data/{SPLIT_FILE}.d");
    broken_repository(&data, |path| cut(path, 0.5));
    broken_repository("data/chain.txt.i", |path| cut(path, 0.7));
    broken_repository("00manifest.i", |path| cut(path, 0.35));
}

#[test]
fn a_repository_without_its_changelog_is_not_empty() {
    broken_repository("00changelog.i", |path| std::fs::remove_file(path).unwrap());
}

#[test]
fn an_error_of_a_push_names_no_path_of_the_server() {
    let site = Site::new();
    let (hg, source) = (hg(), site.repository("r"));
    repos::make(&hg, &source, repos::DEFAULT);
    std::fs::write(
        source.join(".hg/hgrc"),
        "[web]\nallow-push = *\npush_ssl = no\n",
    )
    .unwrap();
    let server = Server::start(crate::VARVE, site.path());
    let work = tempfile::tempdir().unwrap();
    let url = server.url("/hg/r");
    hg.ok(work.path(), &["clone", "-q", &url, "clone"]);
    let clone = work.path().join("clone");
    repos::write(&clone, "new", b"new\n");
    hg.ok(&clone, &["commit", "-A", "-m", "new"]);
    std::fs::create_dir_all(source.join(".hg/store/data/new.i")).unwrap();
    let pushed = hg.run(&clone, &["push", "-f"]);
    let said = format!("{}{}", pushed.stdout, pushed.stderr);
    assert_eq!(pushed.code, Some(255), "{said}");
    assert!(said.contains("directory"), "{said}");
    assert!(!said.contains(site.path().to_str().unwrap()), "{said}");
    server.printed_with("repos/r/.hg/store/data/new.i");
}

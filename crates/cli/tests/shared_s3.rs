//! Databases in a bucket of S3: by default of a server in memory; of the one that `VARVE_TEST_STORE=s3://BUCKET` and the
//! variables of S3 name, if they are set (`./test --shared` does that).

use crate::VARVE;
use crate::shared::{count, options, write};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use varve_base::{DiskStorage, Storage};
use varve_docdb::Database;
use varve_testkit::s3::S3Server;
use varve_testkit::varve::{Server, configure};

/// A store that is empty, and the variables with which programs reach it.
struct Bucket {
    fake: Option<S3Server>,
    address: String,
}

impl Bucket {
    fn new(store: &str) -> Bucket {
        let real = std::env::var("VARVE_TEST_STORE").ok();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let (fake, bucket) = match real {
            Some(bucket) => (None, bucket),
            None => (Some(S3Server::start()), "s3://bucket".to_owned()),
        };
        let address = format!("{bucket}/{store}-{}", since.as_nanos());
        Bucket { fake, address }
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        let fake = self.fake.iter().flat_map(S3Server::variables);
        fake.collect()
    }

    /// Runs `varve shared` and returns what it said, and its exit code.
    fn shared(&self, arguments: &[&str]) -> (String, Option<i32>) {
        let mut command = Command::new(VARVE);
        command.arg("shared").args(arguments);
        said(command.envs(self.variables()))
    }

    fn serve(&self, directory: &Path) -> Server {
        configure(directory, "[chttpd_auth]\niterations = 2\n");
        let options = ["--takeover", "1", "--shared", &self.address];
        let started = Server::start_in_environment(VARVE, directory, &options, &self.variables());
        started.unwrap_or_else(|ended| panic!("no start: {}", ended.printed))
    }
}

fn said(command: &mut Command) -> (String, Option<i32>) {
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (String::from_utf8(said).unwrap(), output.status.code())
}

#[test]
fn copies_in_a_bucket_grow_and_come_back() {
    let (scratch, bucket) = (tempfile::tempdir().unwrap(), Bucket::new("copies"));
    let at = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let (source, target) = (at("source"), at("target"));
    std::fs::create_dir_all(scratch.path().join("source/databases")).unwrap();
    let path = Path::new("databases/a%2Fb.varve");
    let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new(&source));
    let db = Database::create(storage, path, &options()).unwrap();
    for (numbers, kept) in [(0..5, false), (5..12, true)] {
        write(&db, numbers).unwrap();
        let (said, code) = bucket.shared(&["put", &bucket.address, &source, "a/b"]);
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(!said.contains(" 0 were there"), kept, "{said}");
    }
    for (action, words) in [
        ("list", "a/b: 4 records, "),
        ("verify", "a/b: checked 4 records, "),
        ("gc", "a/b: removed 0 records"),
    ] {
        let (said, code) = bucket.shared(&[action, &bucket.address]);
        assert!(said.starts_with(words) && code == Some(0), "{said}");
    }
    let (said, code) = bucket.shared(&["restore", &bucket.address, "a/b", &target]);
    assert!(
        said.starts_with("a/b: 12 documents, ") && code == Some(0),
        "{said}"
    );
    let restored = Arc::new(DiskStorage::new(&target));
    assert_eq!(
        count(&Database::open(restored, path, &options()).unwrap()),
        12
    );
}

/// Writes documents through a server until `is_over`; returns those that were acknowledged.
fn write_through(server: &Server, is_over: &AtomicBool) -> Vec<String> {
    let json = [("Content-Type", "application/json")];
    let (mut client, mut acknowledged) = (server.admin(), Vec::new());
    for number in 0.. {
        if is_over.load(Ordering::SeqCst) {
            break;
        }
        let id = format!("doc-{number}");
        match client.request("PUT", &format!("/x/{id}"), &json, b"{}") {
            Ok(answer) if answer.status == 201 => acknowledged.push(id),
            // Between two leaders, connections are closed.
            Ok(_) | Err(_) => {
                client = server.admin();
                thread::sleep(Duration::from_millis(50));
            }
        }
    }
    acknowledged
}

fn is_written(server: &Server) -> bool {
    let json = [("Content-Type", "application/json")];
    let path = "/x/written-to-see-if-one-leads";
    let answer = server.admin().request("PUT", path, &json, b"{}");
    answer.is_ok_and(|answer| matches!(answer.status, 201 | 409))
}

#[test]
fn servers_of_a_bucket_are_killed_in_turns_and_lose_nothing() {
    let (scratch, bucket) = (tempfile::tempdir().unwrap(), Bucket::new("servers"));
    let serve = |name: &str| bucket.serve(&scratch.path().join(name));
    let (first, second, third) = (serve("one"), serve("two"), serve("three"));
    third.admin().put("/x", &Value::Null).expect_status(201);
    let is_over = AtomicBool::new(false);
    let acknowledged = thread::scope(|scope| {
        let writer = scope.spawn(|| write_through(&third, &is_over));
        thread::sleep(Duration::from_millis(500));
        first.kill();
        wait_until("another leads", || is_written(&third));
        thread::sleep(Duration::from_millis(300));
        second.kill();
        wait_until("the last one leads", || is_written(&third));
        thread::sleep(Duration::from_millis(300));
        is_over.store(true, Ordering::SeqCst);
        writer.join().unwrap()
    });
    assert!(acknowledged.len() > 10, "{}", acknowledged.len());
    let query = json!({"keys": acknowledged});
    let rows = third
        .admin()
        .post("/x/_all_docs", &query)
        .expect_status(200)
        .json();
    for row in rows["rows"].as_array().unwrap() {
        assert!(
            row["value"]["rev"].is_string(),
            "{row} was acknowledged and is lost"
        );
    }
    third.stop("TERM");
    let (said, code) = bucket.shared(&["verify", &bucket.address]);
    assert_eq!(code, Some(0), "{said}");
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let most = (0..600).find(|_| {
        thread::sleep(Duration::from_millis(100));
        is_so()
    });
    assert!(most.is_some(), "never: {what}");
}

/// Neither start nor copy where the store cannot keep what it is given, and the reason is one that a user can act on.
#[test]
fn a_bucket_that_cannot_be_used_is_refused() {
    let (scratch, fake) = (tempfile::tempdir().unwrap(), S3Server::start());
    let directory = scratch.path().join("served");
    configure(&directory, "");
    let serve = |address: &str, variables: &[(&str, String)]| {
        let mut command = Command::new(VARVE);
        for name in [
            "AWS_REGION",
            "AWS_DEFAULT_REGION",
            "AWS_PROFILE",
            "AWS_ENDPOINT_URL_S3",
        ] {
            command.env_remove(name);
        }
        command
            .arg("serve")
            .arg(&directory)
            .args(["-p", "0", "--shared", address]);
        let variables = variables.iter().map(|(name, value)| (name, value));
        said(command.envs(variables))
    };
    let mut variables = fake.variables().to_vec();
    let (printed, code) = serve("s3://absent/x", &variables);
    assert!(
        printed.contains("there is no bucket absent") && code == Some(1),
        "{printed}"
    );
    let (printed, code) = serve("s3://B/x", &variables);
    assert!(
        printed.contains("is no address of S3") && code == Some(2),
        "{printed}"
    );
    fake.ignore_conditions();
    let (printed, code) = serve("s3://bucket/x", &variables);
    assert!(
        printed.contains("created the same object twice") && code == Some(1),
        "{printed}"
    );
    for (name, value) in &mut variables {
        let is_key = *name == "AWS_ACCESS_KEY_ID";
        *value = if is_key { String::new() } else { value.clone() };
    }
    let (printed, code) = serve("s3://bucket/x", &variables);
    assert!(
        printed.contains("AWS_ACCESS_KEY_ID is not set") && code == Some(1),
        "{printed}"
    );
}

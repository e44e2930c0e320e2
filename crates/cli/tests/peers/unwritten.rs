//! Databases are made and removed until the server is killed, and then lose what a power cut may take: the bytes of
//! those to which nothing was written.

use super::Site;
use crate::VARVE;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Mutex;
use varve_testkit::varve::Server;

const CLIENTS: usize = 4;
/// Databases that each client makes at most.
const MOST: usize = 200;
/// Databases that are announced before the server is killed.
const ANNOUNCED: usize = 60;

/// Names of databases, by what clients were told of them.
#[derive(Debug, Default)]
struct Told {
    made: BTreeSet<String>,
    /// Removed, or perhaps.
    removed: BTreeSet<String>,
    gone: BTreeSet<String>,
}

/// Makes databases and removes every fifth of them, until the server does not answer.
fn work(server: &Server, client: usize, told: &Mutex<Told>) {
    let mut admin = server.admin();
    for number in 0..MOST {
        let name = format!("made-{client}-{number:03}");
        let path = format!("/{name}");
        match admin.request("PUT", &path, &[], b"") {
            Ok(answer) => assert_eq!(answer.status, 201),
            Err(_) => return,
        }
        told.lock().unwrap().made.insert(name.clone());
        if number % 5 != 4 {
            continue;
        }
        told.lock().unwrap().removed.insert(name.clone());
        match admin.request("DELETE", &path, &[], b"") {
            Ok(answer) => assert_eq!(answer.status, 200),
            Err(_) => return,
        }
        told.lock().unwrap().gone.insert(name);
    }
}

fn run(site: &Site, arguments: &[&str]) -> String {
    let mut command = Command::new(VARVE);
    let ended = command.args(arguments).current_dir(site.path()).output();
    let ended = ended.unwrap();
    let said = String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap();
    assert!(ended.status.success(), "{arguments:?}: {said}");
    said
}

#[test]
fn no_announced_database_is_lost_and_none_that_was_removed_comes_back() {
    let site = Site::new();
    let mut server = site.serve();
    let told = Mutex::new(Told::default());
    std::thread::scope(|scope| {
        let (server, told) = (&server, &told);
        for client in 0..CLIENTS {
            scope.spawn(move || work(server, client, told));
        }
        while told.lock().unwrap().made.len() < ANNOUNCED {
            std::thread::yield_now();
        }
        server.signal("KILL");
    });
    server.kill();
    let told = told.into_inner().unwrap();
    assert!(!told.gone.is_empty() && told.made.len() < CLIENTS * MOST);
    let kept: Vec<&String> = told.made.difference(&told.removed).collect();
    let mut emptied = 0;
    for (number, name) in kept.iter().enumerate() {
        let file = site.database_file(name);
        let bytes = std::fs::read(&file).unwrap();
        let left = match number % 4 {
            0 => bytes,
            1 => Vec::new(),
            2 => vec![0; bytes.len()],
            _ => bytes[..30].to_vec(),
        };
        emptied += usize::from(number % 4 != 0);
        std::fs::write(&file, left).unwrap();
    }
    let said = run(&site, &["verify", "."]);
    assert_eq!(
        said.matches("the file has no commit").count(),
        emptied,
        "{said}"
    );
    let exported = run(&site, &["export", "--db", kept[1], "-"]);
    assert!(exported.contains(kept[1].as_str()), "{exported}");
    server = site.serve();
    let mut admin = server.admin();
    let listed = admin.get("/_all_dbs").expect_status(200).json();
    let listed: BTreeSet<String> = serde_json::from_value(listed).unwrap();
    assert!(told.gone.is_disjoint(&listed), "{listed:?}");
    for name in &kept {
        assert!(listed.contains(*name), "{name} is lost");
        let about = admin.get(&format!("/{name}")).expect_status(200).json();
        assert_eq!(about["doc_count"], 0, "{name}");
        assert_eq!(
            about["update_seq"].as_str().unwrap().split('-').next(),
            Some("0")
        );
        let again = admin.request("PUT", &format!("/{name}"), &[], b"").unwrap();
        assert_eq!(again.status, 412, "{name}");
        let document = format!("/{name}/doc");
        admin
            .put(&document, &json!({"of": name}))
            .expect_status(201);
    }
    server.kill();
    server = site.serve();
    let mut admin = server.admin();
    for name in &kept {
        let document: Value = admin.get(&format!("/{name}/doc")).expect_status(200).json();
        assert_eq!(document["of"], name.as_str());
    }
    assert!(!run(&site, &["verify", "."]).contains("no commit"));
    for name in told.gone {
        admin
            .put(&format!("/{name}"), &Value::Null)
            .expect_status(201);
    }
}

//! Old states in a shared store, and the servers that remove them.

use crate::shared_owners::metric;
use crate::shared_serving::{Scene, wait_until};
use serde_json::{Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Commits of one database; a log has a checkpoint after each thousand.
const COMMITS: usize = 1010;
const FIRST_RECORD: &str = "store/databases/db-d/log/00000000000000000001";

/// States that are older than restores reach back are removed while the server answers.
#[test]
fn old_states_are_removed_by_the_server() {
    let scene = Scene::new();
    let server = scene.serve("one");
    let mut client = server.admin();
    client.put("/d", &Value::Null).expect_status(201);
    for number in 0..COMMITS {
        client
            .put(&format!("/d/{number}"), &json!({}))
            .expect_status(201);
    }
    let first = PathBuf::from(scene.path(FIRST_RECORD));
    assert!(first.exists(), "nothing is old yet");
    make_old(Path::new(&scene.path("store")));
    // A day, which is the default, would be too long.
    let every = "/_node/_local/_config/shared/collect_every";
    client.put(every, &json!("1")).expect_status(200);
    wait_until("the first record goes", || !first.exists());
    wait_until("it is counted", || {
        metric(&server, "varve_collected_bytes_total") > 0
    });
    for number in [0, COMMITS - 1] {
        client.get(&format!("/d/{number}")).expect_status(200);
    }
    let (code, said) = scene.run(&["shared", "verify", &scene.store()]);
    assert_eq!(code, Some(0), "{said}");
}

fn make_old(directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => make_old(&path),
            false => {
                let old = SystemTime::now() - Duration::from_hours(8 * 24);
                File::open(path).unwrap().set_modified(old).unwrap();
            }
        }
    }
}

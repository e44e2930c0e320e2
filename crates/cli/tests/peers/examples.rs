//! The programs of `examples/` against a server whose repository stock `hg` made.

use super::Site;
use super::console::in_browser;
use crate::hgcli::serving::pages::lake;
use std::process::Command;
use std::time::Duration;
use varve_testkit::http::Client;
use varve_testkit::peers::{hg, hg_program};
use varve_testkit::{repos, workspace_root};

const LOOKS: u32 = 600;
const PAUSE: Duration = Duration::from_millis(50);

/// Waits until the database of a repository has a document.
fn wait_for(client: &mut Client, path: &str) {
    for _ in 0..LOOKS {
        if client.get(path).status == 200 {
            return;
        }
        std::thread::sleep(PAUSE);
    }
    panic!("{path} does not come");
}

#[test]
fn changesets_are_built() {
    let site = Site::new();
    let (hg, repository) = (hg(), site.repository("r"));
    std::fs::create_dir_all(&repository).unwrap();
    hg.ok(&repository, &["init"]);
    repos::write(&repository, "good", b"good\n");
    repos::commit(&hg, &repository, "with it");
    hg.ok(&repository, &["remove", "good"]);
    repos::commit(&hg, &repository, "without it");
    hg.ok(&repository, &["phase", "-p", "tip"]);
    let nodes = hg.ok(&repository, &["log", "-T", "{node}\n"]);
    let nodes: Vec<&str> = nodes.lines().collect();
    let server = site.serve();
    let mut admin = server.admin();
    wait_for(&mut admin, &format!("/hg%2Fr/{}", nodes[0]));
    let url = server.admin_url("");
    let built = || {
        let mut command = Command::new("python3");
        command.arg(workspace_root().join("examples/ci/ci.py"));
        command.args([
            url.trim_end_matches('/'),
            "r",
            "--all",
            "--once",
            "--",
            "cat",
            "good",
        ]);
        let programs = hg_program().parent().unwrap().to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path)));
        let output = command
            .env("PATH", path.unwrap())
            .env("HGRCPATH", "")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let short = |node: &str| node[..12].to_owned();
    let expected = [
        format!("{} passed with it\n", short(nodes[1])),
        format!("{} failed without it\n", short(nodes[0])),
    ];
    // Changes of documents come in no order that changesets have.
    let first = built();
    let mut lines: Vec<&str> = first.split_inclusive('\n').collect();
    lines.sort_unstable_by_key(|line| line.contains("failed"));
    assert_eq!(lines.concat(), expected.concat());
    let result = admin.get(&format!("/hg%2Fr/{}:build:ci", nodes[1])).json();
    assert_eq!(
        (&result["state"], &result["text"]),
        (&"passed".into(), &"good\n".into())
    );
    let mut anonymous = server.anonymous();
    let page = anonymous.get(&format!("/hg/r/rev/{}", nodes[0])).text();
    assert!(
        page.contains("<span class=\"name removed\">failed</span>"),
        "{page}"
    );
    // It goes on where it stopped.
    assert_eq!(built(), "");
}

#[test]
fn a_log_is_read_and_commented_without_a_network() {
    let site = Site::new();
    let repository = site.repository("lake");
    let hg = lake(&repository);
    let node = hg.ok(&repository, &["log", "-r", "2", "-T", "{node}"]);
    let examples = workspace_root().join("examples");
    let settings = [
        ("EXAMPLES", &*examples.to_string_lossy()),
        ("NODE_OF_CHANGESET", node.as_str()),
    ];
    in_browser(&site, "pages/offline_log.js", &settings);
}

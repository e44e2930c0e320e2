//! Repositories that are empty, hidden in part, refused, or changed while they are served.

use super::Site;
use varve_testkit::peers::hg;
use varve_testkit::repos::{self, DEFAULT};

#[test]
fn an_empty_repository_is_cloned_and_fills_later() {
    let site = Site::new();
    let (hg, source) = (hg(), site.repository("empty"));
    std::fs::create_dir_all(&source).unwrap();
    hg.ok(&source, &["init"]);
    let server = site.serve();
    let url = &server.url("/hg/empty");
    let work = tempfile::tempdir().unwrap();
    for (name, option) in [("pulled", "--pull"), ("streamed", "--stream")] {
        hg.ok(work.path(), &["clone", option, url, name]);
        let clone = work.path().join(name);
        hg.ok(&clone, &["verify"]);
        assert_eq!(hg.ok(&clone, &["log"]), "");
    }
    let id = hg.ok(work.path(), &["identify", "--id", url]);
    assert_eq!(id, "000000000000\n");
    // Stock hg commits while the server runs; the next request sees it.
    for round in 0..3 {
        repos::write(&source, "file", format!("round {round}\n").as_bytes());
        repos::commit(&hg, &source, &format!("Round {round}"));
        let clone = work.path().join("pulled");
        hg.ok(&clone, &["pull", "--update", url]);
        assert_eq!(hg.ok(&clone, &["log"]), hg.ok(&source, &["log"]));
        hg.ok(&clone, &["verify"]);
    }
}

#[test]
fn secret_changesets_are_not_served() {
    let site = Site::new();
    let (hg, source) = (hg(), site.repository("hidden"));
    repos::make(&hg, &source, DEFAULT);
    let secret = repos::add_secret(&hg, &source);
    let server = site.serve();
    let url = &server.url("/hg/hidden");
    let work = tempfile::tempdir().unwrap();
    for (name, option) in [("pulled", "--pull"), ("streamed", "--stream")] {
        hg.ok(work.path(), &["clone", option, url, name]);
        let clone = work.path().join(name);
        hg.ok(&clone, &["verify"]);
        let nodes = hg.ok(&clone, &["log", "-T", "{node}\n"]);
        assert!(!nodes.contains(&secret), "{name}");
        assert!(
            !clone.join(".hg/store/data/secret.txt.i").exists(),
            "{name}"
        );
        let incoming = hg.fails(&clone, &["incoming", url]);
        assert!(incoming.contains("no changes found"), "{incoming}");
        hg.fails(&clone, &["pull", "-r", &secret, url]);
    }
    hg.fails(work.path(), &["identify", "-r", &secret, url]);
    hg.fails(work.path(), &["clone", "-r", &secret, url, "refused"]);
    let visible = hg.ok(
        &source,
        &["log", "-r", "max(not secret())", "-T", "{short(node)}\n"],
    );
    let tip = hg.ok(work.path(), &["identify", "--id", "-r", "tip", url]);
    assert_eq!(tip, visible);
}

#[test]
fn unknown_requirements_are_refused_by_name() {
    let site = Site::new();
    let (hg, source) = (hg(), site.repository("odd"));
    let good = site.repository("good");
    for path in [&source, &good] {
        std::fs::create_dir_all(path).unwrap();
        hg.ok(path, &["init"]);
    }
    let requires = source.join(".hg/requires");
    let text = std::fs::read_to_string(&requires).unwrap();
    std::fs::write(&requires, text + "exp-carved-in-stone\n").unwrap();
    let mut server = site.serve();
    let work = tempfile::tempdir().unwrap();
    let said = hg.fails(work.path(), &["clone", &server.url("/hg/odd"), "clone"]);
    assert!(said.contains("exp-carved-in-stone"), "{said}");
    hg.ok(work.path(), &["clone", &server.url("/hg/good"), "good"]);
    assert!(server.is_running());
}

#[test]
fn pushing_is_refused_unless_it_is_allowed() {
    let site = Site::new();
    let (hg, source) = (hg(), site.repository("firm"));
    repos::make(&hg, &source, DEFAULT);
    let server = site.serve();
    let url = &server.url("/hg/firm");
    let work = tempfile::tempdir().unwrap();
    hg.ok(work.path(), &["clone", url, "clone"]);
    let clone = work.path().join("clone");
    repos::write(&clone, "README", b"mine\n");
    repos::commit(&hg, &clone, "Mine");
    let before = hg.ok(&source, &["log", "--debug"]);
    for to in [url, &server.admin_url("/hg/firm")] {
        let said = hg.fails(&clone, &["push", to]);
        assert!(said.contains("push"), "{said}");
        assert!(!said.contains("Traceback"), "{said}");
    }
    assert_eq!(hg.ok(&source, &["log", "--debug"]), before);
    hg.ok(&source, &["verify"]);
}

#[test]
fn what_is_no_repository_is_not_found() {
    let site = Site::new();
    std::fs::create_dir_all(site.repository("directory/inner")).unwrap();
    let server = site.serve();
    let (hg, work) = (hg(), tempfile::tempdir().unwrap());
    for name in [
        "nobody",
        "directory",
        "directory/inner",
        "..",
        "../databases",
        "%2e%2e/x",
    ] {
        let path = format!("/hg/{name}");
        let answer = server.anonymous().get(&format!("{path}?cmd=capabilities"));
        assert_ne!(answer.status, 200, "{path}");
        assert_ne!(answer.status, 500, "{path}");
        hg.fails(work.path(), &["clone", &server.url(&path), "clone"]);
    }
}

#[test]
fn big_files_are_streamed_in_both_versions() {
    let site = Site::new();
    let (hg, source) = (hg(), site.repository("big"));
    std::fs::create_dir_all(&source).unwrap();
    hg.ok(&source, &["init"]);
    let mut state = 1_u32;
    let mut noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    for (name, len) in [("a", 9_000_000), ("b", 10), ("c", 4 << 20), ("d", 300_000)] {
        let bytes: Vec<u8> = noise.by_ref().take(len).collect();
        repos::write(&source, name, &bytes);
    }
    repos::commit(&hg, &source, "Big files");
    let server = site.serve();
    let url = &server.url("/hg/big");
    let work = tempfile::tempdir().unwrap();
    for (name, exchange) in [("v1", "bundle1"), ("v2", "bundle2")] {
        let config = format!("devel.legacy.exchange={exchange}");
        let clone = [
            "clone", "--debug", "--stream", "--config", &config, url, name,
        ];
        let said = hg.ok(work.path(), &clone);
        assert_eq!(said.contains("stream_out"), name == "v1", "{said}");
        hg.ok(&work.path().join(name), &["verify"]);
        for file in ["a", "b", "c", "d"] {
            let ours = std::fs::read(work.path().join(name).join(file)).unwrap();
            assert!(ours == std::fs::read(source.join(file)).unwrap(), "{file}");
        }
    }
}

/// `hg serve` answers 400 to both; a browser does not take the summary for the page.
#[test]
fn what_is_not_there_is_not_answered_with_the_summary() {
    let site = Site::new();
    let hg = hg();
    let path = site.repository("team/r");
    std::fs::create_dir_all(&path).unwrap();
    hg.ok(&path, &["init"]);
    let server = site.serve();
    let mut client = server.anonymous();
    for (path, status) in [
        ("/hg/team/r", 200),
        ("/hg/team/r/", 200),
        ("/hg/team/r?cmd=capabilities", 200),
        ("/hg/team/r/nothing", 400),
        ("/hg/team/r/rev/tip", 200),
        ("/hg/team/r?cmd=frob", 400),
    ] {
        assert_eq!(client.get(path).status, status, "{path}");
    }
}

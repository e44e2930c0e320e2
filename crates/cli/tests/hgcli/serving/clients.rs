//! Stock `hg` and Varve's client with one repository that Varve serves.

use super::*;
use std::os::unix::fs::PermissionsExt;
use varve_testkit::peers::{Outcome, run_hg};

pub(super) fn run(program: &Path, directory: &Path, words: &[&str]) -> Outcome {
    let mut command = Command::new(program);
    command.args(words).current_dir(directory);
    command
        .env("HGRCPATH", "")
        .env("HGPLAIN", "1")
        .env("HGUSER", "ada")
        .env("LC_ALL", "C.UTF-8");
    match *program == hg_program() {
        true => run_hg(&mut command),
        false => Outcome::of(&mut command, program),
    }
}

#[test]
fn both_clients_clone_pull_and_push() {
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path();
    let (hg, source) = (hg(), work.join("source"));
    repos::make(&hg, &source, repos::DEFAULT);
    std::fs::write(
        source.join(".hg/hgrc"),
        "[web]\nallow-push = *\npush_ssl = no\n[hooks]\nchangegroup = echo of the repository $HG_URL\n",
    )
    .unwrap();
    let hook = "hooks.pretxnchangegroup.x=echo of the user $HG_SOURCE";
    for prefix in ["", "/deep/er"] {
        let options = [
            "-p",
            "0",
            "-a",
            "127.0.0.1",
            "--prefix",
            prefix,
            "--config",
            hook,
        ];
        let serving = Serving::start(&our_hg(), &source, &options);
        let url = serving.url(prefix);
        for (name, program) in programs() {
            let name = format!("{name}{}", prefix.len());
            run(
                &program,
                work,
                &["clone", "-q", "--stream", &url, "streamed"],
            )
            .success();
            hg.ok(&work.join("streamed"), &["verify", "-q"]);
            std::fs::remove_dir_all(work.join("streamed")).unwrap();
            run(&program, work, &["clone", "-q", &url, &name]).success();
            let clone = work.join(&name);
            repos::write(&clone, &name, b"pushed\n");
            hg.ok(&clone, &["commit", "-A", "-m", &name]);
            let pushed = run(&program, &clone, &["push", "-f"]);
            let said = format!("{}{}", pushed.stdout, pushed.stderr);
            assert_eq!(pushed.code, Some(0), "{said}");
            assert!(said.contains("remote: of the user serve\n"), "{said}");
            let told = "remote: of the repository remote:http:127.0.0.1:\n";
            assert!(said.contains(told), "{said}");
            hg.ok(
                &source,
                &[
                    "commit",
                    "-m",
                    "more",
                    "--config",
                    "ui.allowemptycommit=yes",
                ],
            );
            run(&program, &clone, &["pull", "-q"]).success();
            let log =
                |root: &Path| hg.ok(root, &["log", "-T", "{node}\n", "-r", "sort(all(), node)"]);
            assert_eq!(log(&clone), log(&source), "{name}");
        }
        let outside = serving.client().request("GET", "/deep?cmd=heads", &[], b"");
        assert_eq!(outside.unwrap().status, 404);
    }
    hg.ok(&source, &["verify", "-q"]);
}

#[test]
fn rights_are_those_of_the_whole_configuration_as_it_is_now() {
    let directory = tempfile::tempdir().unwrap();
    let hg = repository(directory.path());
    let options = ["-p", "0", "-a", "127.0.0.1", "--config", "web.push_ssl=no"];
    let configure = |text: &str| std::fs::write(directory.path().join(".hg/hgrc"), text).unwrap();
    let [theirs, ours] = programs().map(|(_, program)| {
        configure("");
        let serving = Serving::start(&program, directory.path(), &options);
        let mut answers = Vec::new();
        let mut ask = |method: &str, path: &str| {
            // Names mean nothing here.
            let mut client = serving.client().with_basic("ada", "x");
            let answer = client.request(method, path, &[], b"").unwrap();
            let asks = answer.header("www-authenticate").is_some();
            answers.push((answer.status, asks));
        };
        let push = "/?cmd=pushkey&namespace=phases&key=x&old=0&new=0";
        ask("POST", push);
        ask("GET", push);
        configure("[web]\nallow-push = ada\n");
        hg.ok(directory.path(), &["bookmark", "-f", "changed"]);
        ask("POST", push);
        ask("GET", "/?cmd=heads");
        configure("[web]\ndeny_read = *\n");
        hg.ok(directory.path(), &["bookmark", "-f", "again"]);
        ask("GET", "/?cmd=heads");
        configure("[web]\nallow-pull = no\nallow-push = *\n");
        hg.ok(directory.path(), &["bookmark", "-f", "changed"]);
        ask("GET", "/?cmd=heads");
        answers
    });
    assert_eq!(theirs, ours);
    assert!(
        ours.contains(&(401, false)) && ours.contains(&(200, false)),
        "{ours:?}"
    );
}

#[test]
fn a_read_only_directory_is_served() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    repository(&source);
    let anybody = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(directory.path(), anybody).unwrap();
    let locked = Command::new("chmod")
        .args(["-R", "a-w,a+rX"])
        .arg(&source)
        .status();
    assert!(locked.unwrap().success());
    let mut command = command(&our_hg(), &source, &["-p", "0", "-a", "127.0.0.1"]);
    if is_root() {
        // Nothing keeps that one from writing; the link to the program lies where it cannot look.
        let program = std::fs::canonicalize(crate::VARVE).unwrap();
        command = super::command(&program, &source, &["-p", "0", "-a", "127.0.0.1"]);
        command.arg0("hg").uid(NOBODY).gid(NOBODY);
    }
    let serving = Serving::spawn(&mut command);
    for (name, program) in programs() {
        for how in ["--pull", "--stream"] {
            let name = format!("{name}{how}");
            run(
                &program,
                directory.path(),
                &["clone", "-q", how, &serving.url(""), &name],
            )
            .success();
        }
    }
    let unlocked = Command::new("chmod")
        .args(["-R", "u+w"])
        .arg(&source)
        .status();
    assert!(unlocked.unwrap().success());
}

/// Whether this process may write everywhere.
fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.starts_with("Uid:\t0\t0"))
}

#[test]
fn its_page_has_the_name_and_no_way_out() {
    let directory = tempfile::tempdir().unwrap();
    repository(directory.path());
    let options = [
        "-p",
        "0",
        "-a",
        "127.0.0.1",
        "-n",
        "A <name>",
        "--prefix",
        "x y",
    ];
    let serving = Serving::start(&our_hg(), directory.path(), &options);
    let answer = serving
        .client()
        .request("GET", "/x%20y/", &[], b"")
        .unwrap();
    let page = answer.text();
    assert!(page.contains("<h1>A &#60;name&#62;</h1>"), "{page}");
    let clone = format!("hg clone http://127.0.0.1:{}/x%20y<", serving.port());
    let links = page.matches("href=\"/").count();
    let within = page.matches("href=\"/x%20y/").count();
    assert!(page.contains(&clone) && links == within, "{page}");
    for nothing in ["/x%20y/_session", "/x%20y/_all_dbs", "/x%20y/hg"] {
        let answer = serving.client().request("GET", nothing, &[], b"").unwrap();
        assert_eq!(answer.status, 400, "{nothing}");
        let is_json = answer.text().starts_with('{');
        assert!(!is_json, "a database answers at {nothing}");
        assert_eq!(answer.header("x-couch-request-id"), None);
    }
}

//! `varve serve --certificate`: stock `hg` and Varve's client over TLS.

use super::Site;
use crate::hgcli::our_hg;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use varve_testkit::peers::{Outcome, hg, hg_program, run_hg, run_script};
use varve_testkit::repos;
use varve_testkit::varve::{ADMIN, PASSWORD, Server, configure};

/// A certificate with its key and its issuer; good for nothing but tests.
fn pem(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/hgcli/tls")
        .join(name)
}

fn serve(directory: &Path) -> Server {
    serve_with(directory, "")
}

fn serve_with(directory: &Path, settings: &str) -> Server {
    configure(directory, settings);
    let certificate = pem("server.pem");
    let options = ["--certificate", certificate.to_str().unwrap()];
    let server = Server::start_with(crate::VARVE, directory, &options);
    server.unwrap_or_else(|ended| panic!("{ended:?}"))
}

/// The newest changeset and all that it builds on, with phases and bookmarks.
fn state(root: &Path) -> String {
    let template = "{node} {phase} {bookmarks}\n";
    hg().ok(root, &["log", "-r", "::tip", "-T", template])
}

#[test]
fn both_clients_clone_stream_and_push() {
    let site = Site::new();
    let (hg, source) = (hg(), site.repository("r"));
    repos::make(&hg, &source, repos::DEFAULT);
    // Streamed as a file of its own, and in several pieces where the kernel sends it.
    repos::write(&source, "large", &repos::noise(9_000_000, 3));
    repos::commit(&hg, &source, "large");
    std::fs::write(source.join(".hg/hgrc"), "[web]\nallow-push = *\n").unwrap();
    let server = serve(site.path());
    assert!(server.printed().contains("listening on https://127.0.0.1:"));
    let url = format!(
        "https://{}/hg/r",
        server.address().replace("127.0.0.1", "localhost")
    );
    let work = tempfile::tempdir().unwrap();
    let run = |program: &Path, words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).current_dir(work.path());
        command
            .env("HGRCPATH", "")
            .env("HGPLAIN", "1")
            .env("HGUSER", "ada");
        match *program == hg_program() {
            true => run_hg(&mut command),
            false => Outcome::of(&mut command, program),
        }
    };
    let trusted = format!("--config=web.cacerts={}", pem("authority.pem").display());
    let history = |root: &Path| hg.ok(root, &["log", "-p", "-T", "{node}\n"]);
    for (name, program) in [("theirs", hg_program()), ("ours", our_hg())] {
        for how in ["--pull", "--stream"] {
            run(&program, &["clone", how, "-q", &trusted, &url, name]).success();
            let clone = work.path().join(name);
            hg.ok(&clone, &["verify", "-q"]);
            assert_eq!(history(&clone), history(&source), "{name} {how}");
            if how == "--pull" {
                std::fs::remove_dir_all(clone).unwrap();
            }
        }
        let clone = work.path().join(name);
        repos::write(&clone, name, b"pushed\n");
        hg.ok(&clone, &["commit", "-A", "-m", name]);
        hg.ok(&clone, &["bookmark", name]);
        let line = ["-R", name, "push", "-f", "-q", &trusted, "-B", name];
        run(&program, &line).success();
        assert!(history(&source).contains("+pushed"), "{name}");
        hg.ok(&source, &["verify", "-q"]);
        assert_eq!(state(&clone), state(&source), "{name}");
        // Without the authority the server's certificate is not trusted.
        let refused = run(&program, &["identify", &url]);
        assert_eq!(refused.code, Some(255), "{refused}");
        assert!(refused.stderr.contains("certificate"), "{refused}");
        let plain = run(&program, &["identify", &url.replace("https", "http")]);
        assert_eq!(plain.code, Some(255), "{plain}");
    }
    assert_eq!(
        hg.ok(
            &source,
            &["log", "-r", "desc(ours) or desc(theirs)", "-T", "x"]
        ),
        "xx"
    );
    // Clone bundles come the same way.
    let mut make = Command::new(crate::VARVE);
    make.args(["clonebundle", source.to_str().unwrap()])
        .env("HGRCPATH", "");
    Outcome::of(&mut make, Path::new(crate::VARVE)).success();
    for (name, program) in [("again-theirs", hg_program()), ("again-ours", our_hg())] {
        let said = run(&program, &["clone", "--stream", &trusted, &url, name]).success();
        let begin = format!("applying clone bundle from {url}/bundle-cache/varve-");
        assert!(said.contains(&begin), "{said}");
        assert_eq!(history(&work.path().join(name)), history(&source));
    }
}

/// Replicates from a URL into the database `b` of a server with these settings; its status and answer.
fn pull(settings: &str, source: &str) -> (u16, Value) {
    let site = Site::new();
    configure(site.path(), settings);
    let here = site.serve();
    let target = here.admin_url("/b");
    let job = json!({"source": source, "target": target, "create_target": true});
    let answer = here.admin().post("/_replicate", &job);
    (answer.status, answer.json())
}

#[test]
fn replications_trust_the_authority_of_the_settings() {
    let site = Site::new();
    let server = serve(site.path());
    let url = server.address().replace("127.0.0.1", "localhost");
    let database = format!("https://{ADMIN}:{PASSWORD}@{url}/a");
    let trusted = format!(
        "[replicator]\nssl_trusted_certificates_file = {}\nretries_per_request = 0\n",
        pem("authority.pem").display()
    );
    let (status, answer) = pull("[replicator]\nretries_per_request = 0\n", &database);
    assert_eq!(
        (status, &answer["error"]),
        (500, &json!("replication_error")),
        "{answer}"
    );
    let reason = answer["reason"].to_string();
    assert!(
        reason.contains("certificate") && reason.contains("UnknownIssuer"),
        "{reason}"
    );
    let (status, answer) = pull(&trusted, &database);
    assert_eq!(
        (status, &answer["error"]),
        (500, &json!("db_not_found")),
        "{answer}"
    );

    let from = Site::new();
    configure(from.path(), &trusted);
    let source = from.serve();
    source.admin().put("/s", &Value::Null).expect_status(201);
    let attached = json!({"f": {"content_type": "image/png", "data": "AAAA"}});
    source
        .admin()
        .put("/s/plain", &json!({}))
        .expect_status(201);
    source
        .admin()
        .put("/s/attached", &json!({"_attachments": attached}))
        .expect_status(201);
    let push = json!({"source": source.admin_url("/s"), "target": database, "create_target": true});
    let answer = source
        .admin()
        .post("/_replicate", &push)
        .expect_status(200)
        .json();
    assert_eq!(answer["history"][0]["docs_written"], 2, "{answer}");
    for settings in [
        trusted.as_str(),
        "[replicator]\nverify_ssl_certificates = false\n",
    ] {
        let (status, answer) = pull(settings, &database);
        assert_eq!(
            (status, &answer["history"][0]["docs_written"]),
            (200, &json!(2)),
            "{answer}"
        );
    }
    // A file without authorities is named instead of being passed over.
    let missing = "[replicator]\nssl_trusted_certificates_file = /does/not/exist.pem\n";
    let (status, answer) = pull(missing, &database);
    assert_eq!(status, 500, "{answer}");
    assert!(
        answer["reason"].to_string().contains("/does/not/exist.pem"),
        "{answer}"
    );
}

#[test]
fn a_certificate_that_is_none_stops_the_start() {
    let site = Site::new();
    configure(site.path(), "");
    let file = site.path().join("varve.ini");
    let options = ["--certificate", file.to_str().unwrap()];
    let ended = Server::start_with(crate::VARVE, site.path(), &options).unwrap_err();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.printed);
    let words = format!(
        "varve: cannot use the certificate {}: it has no certificate\n",
        file.display()
    );
    assert_eq!(ended.printed, words);
}

#[test]
fn many_feeds_share_one_connection() {
    let site = Site::new();
    let mut server = serve(site.path());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/npm/feeds_over_http2.js");
    let authority = pem("authority.pem");
    let settings = [
        ("SERVER", server.admin_url("")),
        ("AUTHORITY", authority.display().to_string()),
    ];
    run_script(
        &script,
        &settings
            .each_ref()
            .map(|(name, value)| (*name, value.as_str())),
    );
    assert!(server.is_running(), "{}", server.printed());
}

#[test]
fn http2_can_be_left_out() {
    let site = Site::new();
    let server = serve_with(site.path(), "[ssl]\nhttp2 = false\n");
    let port = server.address().rsplit(':').next().unwrap().to_owned();
    let program = "const tls = require('tls');\n\
        const options = { port: process.env.PORT, ALPNProtocols: ['h2', 'http/1.1'], rejectUnauthorized: false };\n\
        const socket = tls.connect(options, () => { console.log(socket.alpnProtocol); socket.end(); });\n";
    let work = tempfile::tempdir().unwrap();
    let script = work.path().join("alpn.js");
    std::fs::write(&script, program).unwrap();
    assert_eq!(run_script(&script, &[("PORT", &port)]), "http/1.1\n");
}

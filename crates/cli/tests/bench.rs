//! `bench` and `advise` as their user calls them. Never how fast.

use crate::VARVE;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;
use varve_base::{DiskStorage, Storage};
use varve_codec::EngineSetting;
use varve_docdb::{Database, DatabaseOptions, Edit, Mode, NodeCache};
use varve_testkit::peers::hg_program;

fn varve(directory: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(VARVE);
    command.args(words).current_dir(directory);
    command
        .env("HGRCPATH", "")
        .env("HGUSER", "ada")
        .output()
        .unwrap()
}

fn printed(directory: &Path, words: &[&str]) -> String {
    let run = varve(directory, words);
    assert!(run.status.success(), "{words:?}: {run:?}");
    String::from_utf8(run.stdout).unwrap()
}

/// The exit code and standard error of a call that fails without results.
fn refused(directory: &Path, words: &[&str]) -> (i32, String) {
    let run = varve(directory, words);
    assert!(run.stdout.is_empty(), "{words:?}: {run:?}");
    (
        run.status.code().unwrap(),
        String::from_utf8(run.stderr).unwrap(),
    )
}

fn make_repository(directory: &Path) {
    printed(directory, &["init", "r"]);
    for number in 0..3 {
        let text: String = (0..200)
            .map(|line| format!("line {line} of {}\n", number * line))
            .collect();
        std::fs::write(directory.join("r/a.txt"), text).unwrap();
        printed(
            directory,
            &["-R", "r", "commit", "-A", "-m", "more", "-d", "0 0"],
        );
    }
}

fn make_database(directory: &Path) {
    std::fs::create_dir_all(directory.join("databases")).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new(directory));
    let options = DatabaseOptions::new(EngineSetting::NONE, NodeCache::new(1 << 20));
    let path = Path::new("databases/notes.varve");
    let database = Database::create(storage, path, &options).unwrap();
    let edits = (0..60).map(|number| {
        let text = format!(
            "{{\"_id\":\"note{number}\",\"text\":\"{}\"}}",
            "words again ".repeat(20)
        );
        Edit::parse(None, text.as_bytes()).unwrap()
    });
    for outcome in database.update(edits.collect(), Mode::Interactive).unwrap() {
        outcome.unwrap();
    }
    database.seal().unwrap();
}

#[test]
fn repo_and_db_print_every_form_and_write_a_page() {
    let made = tempfile::tempdir().unwrap();
    let directory = made.path();
    make_repository(directory);
    make_database(directory);
    let repo = [
        "bench",
        "repo",
        "r",
        "--codec",
        "deflate_6",
        "--codec",
        "zstd_3",
        "--html",
        "r.html",
    ];
    let db = [
        "bench", "db", "notes", "--codec", "none", "--sample", "10", "--html", "d.html",
    ];
    let value = |words: &[&str]| -> Value {
        serde_json::from_str(&printed(directory, &[words, &["--json"]].concat())).unwrap()
    };
    let bundle = [
        "bench", "bundle", "r", "--type", "gzip-v2", "--type", "zstd-v2", "--html", "b.html",
    ];
    for (words, table, file) in [
        (&repo[..], "engines", "r.html"),
        (&bundle, "bundles", "b.html"),
        (&db, "compressions", "d.html"),
    ] {
        let rows = &value(words)["tables"][table]["rows"];
        assert!(!rows.as_array().unwrap().is_empty());
        let page = std::fs::read_to_string(directory.join(file)).unwrap();
        assert!(page.contains("<svg") && page.ends_with("</html>\n"));
    }
    let with = |form: &str| printed(directory, &[&repo[..], &[form]].concat());
    assert!(with("--csv").lines().next().unwrap().contains("_median,"));
    assert!(with("--md").contains("| ---: |"));
}

#[test]
fn options_and_inputs_of_bench_that_do_not_fit_are_refused_by_name() {
    let made = tempfile::tempdir().unwrap();
    let directory = made.path();
    make_repository(directory);
    for (words, said) in [
        (
            &["bench", "repo", "r", "--codec", "snappy"][..],
            "not snappy",
        ),
        (
            &["bench", "repo", "r", "--json", "--csv"],
            "cannot be used with",
        ),
        (
            &["bench", "repo", "r", "--sample", "0"],
            "invalid value '0'",
        ),
        (
            &["bench", "stream", "http://localhost:1/r", "--hg", "hg"],
            "--hg serves a repository on this machine",
        ),
        (
            &["bench", "hg", "r", "--hg", "no-such-hg"],
            "there is no program 'no-such-hg'",
        ),
        (&["bench", "hg", "r", "--hg", VARVE], "is Varve itself"),
        (
            &["bench", "hg", "r", "--hg", "/bin/sh", "--only", "fly"],
            "no measured command has 'fly' in its name",
        ),
        (
            &["bench", "db", "nowhere"],
            "nowhere is neither a file nor a directory",
        ),
        (&["bench", "db"], "required arguments"),
        (&["bench", "db", "r", "--docs", "x"], "cannot be used with"),
        (
            &["advise", "r", "--for", "fun"],
            "balanced, space, speed or serving",
        ),
        (&["advise", "https://example.org/r"], "is a URL"),
    ] {
        let (code, stderr) = refused(directory, words);
        assert!(
            code == 2 && stderr.contains(said),
            "{words:?}: {code} {stderr}"
        );
    }
    let (code, stderr) = refused(directory, &["bench", "repo", "r", "--runs", "2"]);
    assert!(
        code == 1 && stderr.contains("at least 3"),
        "{code} {stderr}"
    );
}

#[test]
fn advise_applies_its_first_choice_and_says_how_far_off_it_was() {
    let made = tempfile::tempdir().unwrap();
    let directory = made.path();
    make_repository(directory);
    make_database(directory);
    let advice = |subject: &str| {
        let words = [
            "advise", subject, "--for", "space", "--budget", "1", "--apply", "--json",
        ];
        let value: Value = serde_json::from_str(&printed(directory, &words)).unwrap();
        let note = value["notes"][0].as_str().unwrap().to_owned();
        let choice = value["tables"]["choices"]["rows"][0].clone();
        let codec = choice["codec"].as_str().unwrap().to_owned();
        let words: Vec<&str> = note.split(' ').collect();
        assert_eq!(words[..2], ["Applied", &format!("{codec}:")], "{note}");
        let size: f64 = words[2].parse().unwrap();
        let predicted = choice["size"].as_f64().unwrap();
        assert!(
            (0.9..1.1).contains(&(size / predicted)),
            "{note}, predicted {predicted}"
        );
        (codec, size)
    };
    let (codec, _) = advice("r");
    let level = codec.rsplit('_').next().unwrap();
    let hgrc = std::fs::read_to_string(directory.join("r/.hg/hgrc")).unwrap();
    assert!(hgrc.contains(&format!("level = {level}\n")), "{hgrc}");
    printed(directory, &["-R", "r", "verify"]);
    let (_, size) = advice("notes");
    let file = std::fs::metadata(directory.join("databases/notes.varve")).unwrap();
    assert_eq!(file.len() as f64, size);
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    printed(directory, &["verify", "databases/notes.varve"]);
}

#[test]
fn bench_prints_what_is_there_when_it_is_interrupted() {
    let made = tempfile::tempdir().unwrap();
    let directory = made.path();
    make_repository(directory);
    let mut bench = Command::new(VARVE);
    bench.args([
        "bench",
        "repo",
        "r",
        "--codec",
        "none",
        "--runs",
        "100000000",
    ]);
    bench
        .current_dir(directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let bench = bench.spawn().unwrap();
    let is_measuring = || {
        let mut entries = std::fs::read_dir(directory.join("r/.hg")).unwrap();
        entries.any(|entry| {
            entry
                .unwrap()
                .file_name()
                .to_string_lossy()
                .starts_with("varve-bench.")
        })
    };
    while !is_measuring() {
        std::thread::sleep(Duration::from_millis(5));
    }
    // The first rounds.
    std::thread::sleep(Duration::from_millis(200));
    let kill = Command::new("kill")
        .args(["-INT", &bench.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let run = bench.wait_with_output().unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    assert_eq!(run.status.code(), Some(130), "{text}");
    assert!(
        text.contains("\nnone ") && text.contains("Interrupted: "),
        "{text}"
    );
    assert!(!is_measuring(), "the temporary directory stays");
}

#[test]
fn bench_load_counts_answers_by_kind_and_errors_apart() {
    let made = tempfile::tempdir().unwrap();
    let settings = "[admins]\nann = secret\n[chttpd_auth]\niterations = 2\n";
    std::fs::write(made.path().join("varve.ini"), settings).unwrap();
    let (mut server, port) = crate::serve::started(made.path());
    let url = |login: &str| format!("http://{login}127.0.0.1:{port}/loaded");
    let run = |login: &str, more: &[&str]| {
        let url = url(login);
        let words = [
            "bench",
            "load",
            &url,
            "--duration",
            "0.05",
            "--clients",
            "2",
            "--json",
        ];
        varve(made.path(), &[&words[..], more].concat())
    };
    let rows = |output: &Output| -> Vec<Value> {
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        value["tables"]["requests"]["rows"]
            .as_array()
            .unwrap()
            .clone()
    };
    let closed = run(
        "ann:secret@",
        &["--html", "l.html", "--template", "{\"n\":{n}}"],
    );
    assert!(closed.status.success(), "{closed:?}");
    for row in rows(&closed) {
        assert!(
            row["errors"] == 0 && row["rate"]["runs"].as_array().unwrap().len() == 3,
            "{row}"
        );
    }
    let page = std::fs::read_to_string(made.path().join("l.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 3);
    let open = run(
        "ann:secret@",
        &["--rate", "200", "--mix", "write=1", "--batch", "3"],
    );
    let open = rows(&open);
    assert_eq!(open.len(), 1);
    // 200 a second for 0.05 s: 10 requests a run.
    let rate = open[0]["rate"]["high"].as_f64().unwrap();
    assert!(open[0]["kind"] == "write" && rate <= 201.0, "{open:?}");
    for (login, more, said) in [
        ("", &[][..], "answered with 401"),
        (
            "ann:secret@",
            &["--query", "_design/x/_view/y"],
            "answered with 404",
        ),
        (
            "ann:secret@",
            &["--template", "[]"],
            "the template gives no JSON object",
        ),
    ] {
        let failed = run(login, more);
        let stderr = String::from_utf8(failed.stderr).unwrap();
        assert!(
            !failed.status.success() && stderr.contains(said),
            "{stderr}"
        );
        assert!(!stderr.contains("secret"), "{stderr}");
    }
    server.kill().unwrap();
    server.wait().unwrap();
}

fn rows(output: &str, table: &str) -> Vec<Value> {
    let value: Value = serde_json::from_str(output).unwrap();
    value["tables"][table]["rows"].as_array().unwrap().clone()
}

/// All files below a directory, with their contents.
fn contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(contents(&path)),
            false => found.push((path.clone(), std::fs::read(&path).unwrap())),
        }
    }
    found.sort();
    found
}

#[test]
fn commands_are_measured_against_stock_hg_and_git() {
    let made = tempfile::tempdir().unwrap();
    let directory = made.path();
    make_repository(directory);
    // A second head, so that not all of the history is below the newest changeset.
    printed(directory, &["-R", "r", "update", "-q", "0"]);
    std::fs::write(directory.join("r/b \u{e9}.txt"), "more\n").unwrap();
    let words = ["-R", "r", "commit", "-A", "-m", "a head", "-d", "7 3600"];
    printed(directory, &words);
    let before = contents(&directory.join("r"));
    let hg = hg_program();
    let hg = hg.to_str().unwrap();
    // As rhg, it ends so where only the other program can go on.
    let script = format!("#!/bin/sh\n[ $1 = log ] || exit 252\nexec '{hg}' \"$@\"\n");
    std::fs::write(directory.join("rhg"), script).unwrap();
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(directory.join("rhg"), executable).unwrap();
    let rhg = format!("--rhg={}", directory.join("rhg").display());
    let words = [
        "bench", "hg", "r", "--hg", hg, "--git", &rhg, "--only", "log -l", "--only", "files",
        "--only", "commit", "--only", "update", "--only", "stream", "--runs", "3", "--json",
        "--html", "h.html",
    ];
    let output = printed(directory, &words);
    let commands = rows(&output, "commands");
    let names: Vec<&str> = commands
        .iter()
        .map(|row| row["work"].as_str().unwrap())
        .collect();
    let chosen = [
        "files",
        "log -l 10",
        "update from null",
        "clone --stream",
        "commit of a file",
    ];
    assert_eq!(names, chosen);
    for row in &commands {
        for column in ["varve", "hg", "git", "hg_ratio", "git_ratio"] {
            assert_eq!(
                row[column]["runs"].as_array().unwrap().len(),
                3,
                "{column}: {row}"
            );
        }
    }
    let of_rhg = commands
        .iter()
        .map(|row| row["rhg_ratio"]["runs"].as_array());
    let runs: Vec<Option<usize>> = of_rhg.map(|runs| runs.map(Vec::len)).collect();
    assert_eq!(
        runs,
        [None, Some(3), None, None, None],
        "only what it takes"
    );
    let sizes = rows(&output, "stores");
    assert!(
        sizes.iter().all(|row| row["size"].as_u64().unwrap() > 100),
        "{sizes:?}"
    );
    let page = std::fs::read_to_string(directory.join("h.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 1);
    assert!(
        before == contents(&directory.join("r")),
        "the repository has changed"
    );
}

#[test]
fn clones_are_measured_against_stock_hg() {
    let made = tempfile::tempdir().unwrap();
    let directory = made.path();
    make_repository(directory);
    let before = contents(&directory.join("r"));
    let hg = hg_program();
    let hg = hg.to_str().unwrap();
    let words = [
        "bench",
        "stream",
        "r",
        "--hg",
        hg,
        "--clients",
        "2",
        "--json",
    ];
    let output = printed(directory, &words);
    let answers = rows(&output, "answers");
    let named = |row: &Value| (row["server"].clone(), row["request"].clone());
    let names: Vec<_> = answers.iter().map(named).collect();
    let pair = |server: &str, request: &str| (Value::from(server), Value::from(request));
    let expected = [
        pair("varve", "stream clone"),
        pair("hg", "stream clone"),
        pair("varve", "pull"),
        pair("hg", "pull"),
    ];
    assert_eq!(names, expected);
    for row in &answers {
        assert!(row["expanded"].as_u64().unwrap() > 500, "{row}");
        assert_eq!(
            row["processor"]["runs"].as_array().unwrap().len(),
            3,
            "{row}"
        );
    }
    assert_eq!(rows(&output, "compared").len(), 2);
    assert!(
        before == contents(&directory.join("r")),
        "the repository has changed"
    );
}

#[test]
fn a_server_is_measured_in_the_same_table_and_keeps_nothing() {
    let made = tempfile::tempdir().unwrap();
    make_database(made.path());
    let settings = "[admins]\nann = secret\n[chttpd_auth]\niterations = 2\n";
    std::fs::write(made.path().join("varve.ini"), settings).unwrap();
    let (mut server, port) = crate::serve::started(made.path());
    let url = format!("http://ann:secret@127.0.0.1:{port}");
    let database = format!("{url}/notes");
    let of_url = ["bench", "db", &database, "--codec", "none", "--json"];
    let of_url = printed(made.path(), &of_url);
    let beside = [
        "bench", "db", "notes", "--codec", "none", "--server", &url, "--json",
    ];
    let beside = printed(made.path(), &beside);
    for output in [&of_url, &beside] {
        let found = rows(output, "compressions");
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[1]["dictionary"], "over HTTP");
        for row in &found {
            for quantity in ["load", "compact", "view_build", "read_p99", "scan"] {
                assert_eq!(
                    row[quantity]["runs"].as_array().unwrap().len(),
                    3,
                    "{quantity}: {row}"
                );
            }
            assert!(row["file_size"].as_u64().unwrap() > 1000, "{row}");
            assert!(row["view_size"].as_u64().unwrap() > 1000, "{row}");
        }
        assert!(!output.contains("secret"), "{output}");
    }
    let left = std::fs::read_dir(made.path().join("databases")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    let of_bench = |name: &&std::ffi::OsString| name.to_string_lossy().contains("varve-bench");
    assert_eq!(left.iter().find(of_bench), None, "{left:?}");
    let (code, stderr) = refused(made.path(), &["bench", "db", &format!("{url}/nothing")]);
    assert!(code == 1 && stderr.contains("404"), "{code} {stderr}");
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn all_joins_the_reports_of_a_database() {
    let made = tempfile::tempdir().unwrap();
    make_database(made.path());
    let output = printed(made.path(), &["bench", "all", "notes", "--json"]);
    for (table, least) in [("compressions", 13), ("codecs", 12), ("sources", 1)] {
        assert!(rows(&output, table).len() >= least, "{table}: {output}");
    }
    let (code, stderr) = refused(made.path(), &["bench", "all", "nothing"]);
    assert!(
        code == 2 && stderr.contains("nothing is neither"),
        "{code} {stderr}"
    );
}

//! The logs of requests and of faults.

use super::*;

/// Asks for things, each with its headers.
fn ask(serving: &Serving, prefix: &str) {
    let arguments = [
        ("x-hgarg-10", "ten"),
        ("x-hgarg-1", "a"),
        ("x-hgproto-1", "0.1  0.2"),
    ];
    let other = [
        ("x-forwarded-for", "192.0.2.9"),
        ("accept", "text/plain"),
        ("x-zoo", "\u{e9}\""),
    ];
    let get = |path: &str, headers: &[(&str, &str)]| {
        let path = format!("{prefix}{path}");
        let mut client = serving.client();
        client.request("GET", &path, headers, b"").unwrap();
    };
    get("/?cmd=heads", &arguments);
    get("/?cmd=branchmap", &other);
    get("/", &[]);
    get("//?cmd=heads&x=%41", &[("X-HgArg-1", "a")][..0]);
    let mut client = serving.client();
    client
        .request("HEAD", &format!("{prefix}/"), &[], b"")
        .unwrap();
    let path = format!("{prefix}/?cmd=heads");
    client.request("POST", &path, &[], b"").unwrap();
    client.request("GET", "/elsewhere", &[], b"").unwrap();
}

#[test]
fn lines_are_the_same_on_the_standard_output_and_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    repository(directory.path());
    let [theirs, ours] = programs().map(|(name, program)| {
        let options = ["-p", "0", "-a", "127.0.0.1", "--prefix", "p"];
        let serving = Serving::start(&program, directory.path(), &options);
        ask(&serving, "/p");
        let printed = serving.end("TERM");

        let log = directory.path().join(name);
        std::fs::write(&log, "from before\n").unwrap();
        let options = [
            "-p",
            "0",
            "-a",
            "127.0.0.1",
            "-A",
            name,
            "-E",
            "faults",
            "--prefix",
            "/p",
        ];
        let serving = Serving::start(&program, directory.path(), &options);
        ask(&serving, "/p");
        let silent = serving.end("INT");
        assert_eq!(std::fs::read(directory.path().join("faults")).unwrap(), b"");
        let written = std::fs::read_to_string(log).unwrap();
        let lines = masked(&printed.out);
        assert_eq!(lines.lines().count(), 8, "{lines}");
        assert!(masked(&written).ends_with(&lines[lines.find('\n').unwrap() + 1..]));
        (lines, masked(&written), silent)
    });
    assert_eq!(theirs, ours);
}

#[test]
fn what_stock_clients_send_is_noted_alike() {
    let directory = tempfile::tempdir().unwrap();
    let hg = repository(&directory.path().join("source"));
    let [theirs, ours] = programs().map(|(name, program)| {
        let options = ["-p", "0", "-a", "127.0.0.1"];
        let serving = Serving::start(&program, &directory.path().join("source"), &options);
        // The path by which it came stands in its own hgrc.
        let url = serving.url("/");
        hg.ok(directory.path(), &["clone", "-q", &url, name]);
        hg.ok(&directory.path().join(name), &["pull", "-q"]);
        hg.ok(directory.path(), &["identify", "-r", "tip", &url]);
        // The capabilities that clients send back depend on the server.
        let line = |line: &str| match line.split_once(" x-hgarg-1:bundlecaps=") {
            Some((begin, _)) => format!("{begin}\n"),
            None => format!("{line}\n"),
        };
        let lines = masked(&serving.end("TERM").out);
        let lines: String = lines.lines().map(line).collect();
        lines
            .lines()
            .filter(|line| !line.contains("cmd=getbundle"))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    });
    assert_eq!(theirs, ours);
}

//! Output at the start and at the end, and refused starts.

use super::super::Twin;
use super::*;
use std::net::TcpListener;

#[test]
fn both_say_where_they_listen_and_how_they_ended() {
    let directory = tempfile::tempdir().unwrap();
    repository(directory.path());
    for (signal, options) in [
        ("TERM", "-p 0"),
        ("INT", "-p 0 -a 127.0.0.1"),
        ("HUP", "-p 0 -a localhost -q"),
        ("TERM", "-p 0 -a 127.0.0.1 --print-url --prefix /a/b/"),
        (
            "TERM",
            "--config web.port=0 --config web.address=127.0.0.1 --config web.prefix=x",
        ),
        ("TERM", "-p 0 -a 127.0.0.1 --prefix / --debug"),
        ("TERM", "-p 0 -6"),
        ("TERM", "-p 0 --config web.ipv6=yes -a ::1"),
    ] {
        let words: Vec<&str> = options.split(' ').collect();
        let [theirs, ours] = programs()
            .map(|(_, program)| Serving::start(&program, directory.path(), &words).end(signal));
        assert_eq!(theirs, ours, "{options}");
        assert_eq!(ours.code, Some(255));
    }
}

#[test]
fn a_chosen_port_is_printed_on_request() {
    let directory = tempfile::tempdir().unwrap();
    repository(directory.path());
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    drop(free);
    for option in ["-v", "--print-url"] {
        let options = ["-a", "127.0.0.1", option, "-p", &port];
        let [theirs, ours] = programs().map(|(_, program)| {
            let serving = Serving::start(&program, directory.path(), &options);
            assert_eq!(serving.port().to_string(), port);
            serving.end("TERM")
        });
        assert_eq!(theirs, ours, "{option}");
    }
    // No request comes here.
    let silent = ["-a", "127.0.0.1", "-p", &port, "-A", "/dev/null"];
    let mut process = command(&our_hg(), directory.path(), &silent)
        .spawn()
        .unwrap();
    let mut client = Client::new(&format!("127.0.0.1:{port}"));
    let begun = std::time::Instant::now();
    while client.request("GET", "/", &[], b"").is_err() {
        assert!(begun.elapsed().as_secs() < 60);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    kill("TERM", process.id());
    let mut said = String::new();
    process
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!(
        (said.as_str(), process.wait().unwrap().code()),
        ("", Some(255))
    );
}

#[test]
fn what_cannot_be_served_is_told_alike() {
    let twin = Twin::reading();
    twin.all_same(&[
        "serve -p foo",
        "serve -p 1.5 -a 127.0.0.1",
        "serve -p 0 -a ::1",
        "serve -p 0 -a 192.0.2.1",
        "serve -p 0 --print-url -v",
        "serve -p 0 --print-url --debug",
        "serve -p 0 --certificate /none/there",
        "serve -p 0 -a 127.0.0.1 -A /none/there",
        "serve -p 0 -a 127.0.0.1 -E /none/there",
        "serve --config web.ipv6=zzz",
        "serve --config web.port=zzz",
        "serve -p 0 --config-file none",
        "-R none serve -p 0",
        "--cwd / serve -p 0",
        "serve -p 0 --stdio",
        "serve -d --stdio",
    ]);
    twin.same_but_output(&["serve", "-p", "0", "x"]);
    twin.same_but_output(&["serve", "--bogus"]);
    let taken = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    twin.same(&["serve", "-p", &port]);
    twin.same(&["serve", "-p", &port, "-a", "127.0.0.1"]);
    twin.same(&["serve", "-p", &port, "-a", "localhost", "-d"]);
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let twin = Twin::reading();
    for (options, name) in [
        ("--daemon-postexec x", "daemon-postexec"),
        ("-t x", "templates"),
        ("-S", "subrepos"),
    ] {
        let mut words = vec!["serve", "-p", "0"];
        words.extend(options.split(' '));
        let mut command = command(&our_hg(), twin.ours(), &words[1..]);
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let expected = format!("abort: serve --{name} is not supported\n(");
        assert!(said.starts_with(&expected), "{said}");
        assert_eq!(output.status.code(), Some(255));
    }
    let directory = tempfile::tempdir().unwrap();
    let bundle = directory.path().join("b.hg");
    let bundle = bundle.to_str().unwrap();
    hg().ok(twin.ours(), &["bundle", "-q", "-a", bundle]);
    let mut bundled = command(&our_hg(), directory.path(), &["-R", bundle, "-p", "0"]);
    let output = bundled.output().unwrap();
    assert_eq!(output.stderr, b"abort: serve does not serve bundles\n");
    let output = command(&our_hg(), twin.ours(), &["-p", "70000"]).output();
    let output = output.unwrap();
    assert_eq!(output.stderr, b"abort: port 70000 is not from 0 to 65535\n");
}

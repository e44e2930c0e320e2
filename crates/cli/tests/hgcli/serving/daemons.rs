//! Servers in the background: started, known by a file with their number, and ended by it.

use super::super::Twin;
use super::*;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Runs a command to its end; its outputs as text.
fn run(command: &mut Command) -> (String, String, Option<i32>) {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        text(output.stdout),
        text(output.stderr),
        output.status.code(),
    )
}

/// Waits until the port is closed.
fn wait_for_end(port: u16) {
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn both_start_and_end_alike() {
    let directory = tempfile::tempdir().unwrap();
    repository(directory.path());
    let [theirs, ours] = programs().map(|(name, program)| {
        let (log, errors) = (format!("{name}.log"), format!("{name}.errors"));
        let pid = directory.path().join("pid");
        std::fs::write(&pid, "a longer line from before\n").unwrap();
        let options = [
            "-d",
            "-p",
            "0",
            "-a",
            "127.0.0.1",
            "--pid-file",
            "pid",
            "-A",
            &log,
            "-E",
            &errors,
        ];
        // The pipes of this call close, too, or it would not end.
        let (out, err, code) = run(&mut command(&program, directory.path(), &options));
        let port = port(&out);
        let number = std::fs::read_to_string(&pid).unwrap();
        let id: u32 = number.trim_end().parse().unwrap();
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
        let fields: Vec<_> = stat.rsplit(") ").next().unwrap().split(' ').collect();
        assert_eq!(fields[3], id.to_string(), "it leads its session");
        let mut client = Client::new(&format!("127.0.0.1:{port}"));
        let answer = client.request("GET", "/?cmd=heads", &[], b"").unwrap();
        assert_eq!(answer.status, 200);
        kill("TERM", id);
        wait_for_end(port);
        let line = std::fs::read_to_string(directory.path().join(&log)).unwrap();
        let is_one = number == format!("{id}\n");
        let stays = pid.exists();
        let out = out.replace(&port.to_string(), "PORT");
        let faults = std::fs::read_to_string(directory.path().join(&errors)).unwrap();
        assert_eq!(faults, "", "a signal is no fault");
        (out, err, code, is_one, stays, masked(&line))
    });
    assert_eq!(theirs, ours);
    assert!(ours.3 && ours.5.contains("GET /?cmd=heads"), "{ours:?}");
}

#[test]
fn a_start_that_fails_is_told_alike() {
    let twin = Twin::reading();
    twin.all_same(&[
        "serve -d -p foo",
        "serve -d -p 0 -a 127.0.0.1 -A /none/there",
        "serve -d -p 0 -a 192.0.2.1",
        "serve -d --print-url -v",
        "--cwd / serve -d -p 0",
    ]);
    let words = [
        "-d",
        "-p",
        "0",
        "-a",
        "127.0.0.1",
        "--pid-file",
        "/none/there",
    ];
    let (out, err, code) = run(&mut command(&our_hg(), twin.ours(), &words));
    wait_for_end(port(&out));
    assert_eq!(err, "abort: No such file or directory: '/none/there'\n");
    assert_eq!(code, Some(255));
}

#[test]
fn files_are_meant_from_the_directory_that_was_chosen() {
    let directory = tempfile::tempdir().unwrap();
    repository(&directory.path().join("r"));
    let options = [
        "-d",
        "-p",
        "0",
        "-a",
        "127.0.0.1",
        "--cwd",
        "r",
        "--pid-file",
        "pid",
        "-E",
        "faults",
    ];
    let (out, err, code) = run(&mut command(&our_hg(), directory.path(), &options));
    assert_eq!((err.as_str(), code), ("", Some(0)));
    let id = std::fs::read_to_string(directory.path().join("r/pid")).unwrap();
    kill("TERM", id.trim_end().parse().unwrap());
    wait_for_end(port(&out));
    assert!(directory.path().join("r/faults").exists());
}

#[test]
fn a_directory_is_served_in_the_background_too() {
    let directory = tempfile::tempdir().unwrap();
    varve_testkit::varve::configure(directory.path(), "");
    let path = directory.path().to_str().unwrap();
    let pid = directory.path().join("pid");
    let log = directory.path().join("log");
    let options = [
        path,
        "-p",
        "0",
        "-d",
        "--pid-file",
        pid.to_str().unwrap(),
        "-A",
        log.to_str().unwrap(),
        "--prefix",
        "deep/er",
    ];
    let (out, err, code) = run(&mut command(
        Path::new(crate::VARVE),
        directory.path(),
        &options,
    ));
    assert_eq!((err.as_str(), code), ("", Some(0)));
    assert!(out.starts_with("listening on http://127.0.0.1:"), "{out}");
    assert!(out.lines().next().unwrap().ends_with("/deep/er/"), "{out}");
    let mut client = Client::new(&format!("127.0.0.1:{}", port(&out)));
    let up = client.request("GET", "/deep/er/_up", &[], b"").unwrap();
    assert_eq!(up.status, 200);
    // The directory is taken: the start fails, and says why.
    let again = run(&mut command(
        Path::new(crate::VARVE),
        directory.path(),
        &options,
    ));
    assert_eq!((again.0.as_str(), again.2), ("", Some(1)));
    assert!(
        again.1.contains("is served by another process"),
        "{}",
        again.1
    );
    let last = "varve: the server in the background has not started\n";
    assert!(again.1.ends_with(last), "{}", again.1);
    let id = std::fs::read_to_string(&pid).unwrap();
    kill("TERM", id.trim_end().parse().unwrap());
    wait_for_end(port(&out));
    let lines = std::fs::read_to_string(log).unwrap();
    assert_eq!(
        masked(&lines),
        format!(
            "127.0.0.1 - -  \"GET /deep/er/_up HTTP/1.1\" 200 {} \"-\" \"-\"\n",
            up.body.len()
        )
    );
}

//! Starting, being asked, and stopping.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

fn serve(directory: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_varve"))
        .args(["serve", "-p", "0"])
        .arg(directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn address_line(child: &mut Child) -> (String, BufReader<std::process::ChildStdout>) {
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let address = line.strip_prefix("listening on http://127.0.0.1:").unwrap();
    (address.trim_end().trim_end_matches('/').to_owned(), out)
}

/// A server on a port of its own. The process must be ended.
pub(crate) fn started(directory: &Path) -> (Child, String) {
    let mut child = serve(directory);
    let (port, _) = address_line(&mut child);
    (child, port)
}

#[test]
fn it_answers_and_ends_cleanly_on_sigterm() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("varve.ini"),
        "[admins]\nann = secret\n[chttpd_auth]\niterations = 2\n",
    )
    .unwrap();
    let mut child = serve(dir.path());
    let (port, _out) = address_line(&mut child);
    let mut connection = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    connection
        .write_all(b"GET /_up HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut reply = String::new();
    connection.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
    let kill = Command::new("kill")
        .arg(child.id().to_string())
        .status()
        .unwrap();
    assert!(kill.success());
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_bad_setting_is_told_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("varve.ini"), "[chttpd]\nport = many\n").unwrap();
    let run = serve(dir.path()).wait_with_output().unwrap();
    assert_eq!(run.status.code(), Some(2));
    let error = String::from_utf8(run.stderr).unwrap();
    let words = "varve.ini:2: chttpd.port must be a port number from 0 to 65535, not \"many\"\n";
    assert!(
        error.starts_with("varve: ") && error.ends_with(words),
        "{error}"
    );
}

#[test]
fn a_start_that_is_refused_its_port_leaves_nothing_behind() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let dir = tempfile::tempdir().unwrap();
    let there = dir.path().join("there");
    std::fs::create_dir(&there).unwrap();
    for options in [&[][..], &["-d"]] {
        for name in ["new", "there"] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_varve"));
            command
                .args(["serve", name, "-p", &port])
                .args(options)
                .current_dir(dir.path());
            let run = command.output().unwrap();
            assert!(!run.status.success());
            let error = String::from_utf8(run.stderr).unwrap();
            assert!(error.contains(&format!("127.0.0.1:{port}")), "{error}");
            assert!(!dir.path().join("new").exists() && !dir.path().join("new.making").exists());
            assert_eq!(std::fs::read_dir(&there).unwrap().count(), 0);
        }
    }
}

#[test]
fn a_new_directory_gets_a_demo_and_an_admin_whose_password_is_shown_once() {
    let dir = tempfile::tempdir().unwrap();
    let directory = dir.path().join("new");
    let mut greetings = Vec::new();
    for _ in 0..2 {
        let mut child = serve(&directory);
        let (_port, mut out) = address_line(&mut child);
        let id = child.id().to_string();
        assert!(Command::new("kill").arg(id).status().unwrap().success());
        assert!(child.wait().unwrap().success());
        let mut greeting = String::new();
        out.read_to_string(&mut greeting).unwrap();
        greetings.push(greeting);
    }
    let words = |text: &str| {
        greetings
            .iter()
            .map(|g| g.matches(text).count())
            .sum::<usize>()
    };
    assert_eq!(words("admin password: "), 1, "{greetings:?}");
    assert_eq!(words("hg clone http://127.0.0.1:"), 2);
    assert_eq!(words("curl -u admin"), 4);
    let password = greetings[0].split("admin password: ").nth(1).unwrap();
    let password = password.lines().next().unwrap();
    let settings = std::fs::read_to_string(directory.join("varve.ini")).unwrap();
    assert!(!settings.contains(password), "{settings}");
    assert!(
        directory
            .join("repos/field-notes/.hg/store/00changelog.i")
            .is_file()
    );
    assert!(directory.join("databases/stations.varve").is_file());
}

/// A directory that holds repositories is not served with an empty list.
#[test]
fn a_directory_of_repositories_is_left_alone_and_told_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("mine/.hg")).unwrap();
    let child = serve(dir.path());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    let told = String::from_utf8(ended.stderr).unwrap();
    let repos = dir.path().join("repos");
    let words = format!(
        "looks for those below {}; make that directory",
        repos.display()
    );
    assert!(told.contains(&words), "{told}");
    let left = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(left, 1, "nothing is written");
}

#[test]
fn a_write_past_the_limit_of_file_sizes_answers_507_and_the_server_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let settings = "[admins]\nann = secret\n[chttpd_auth]\niterations = 2\n\
                    [couchdb]\nfile_compression = none\n";
    std::fs::write(dir.path().join("varve.ini"), settings).unwrap();
    let command = format!(
        "ulimit -f 200; exec '{}' serve -p 0 '{}'",
        env!("CARGO_BIN_EXE_varve"),
        dir.path().display()
    );
    let mut child = Command::new("sh")
        .args(["-c", &command])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (port, _out) = address_line(&mut child);
    let send = |method: &str, path: &str, body: &str| {
        let mut connection = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\
             authorization: Basic YW5uOnNlY3JldA==\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        connection.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        connection.read_to_string(&mut reply).unwrap();
        reply
    };
    assert!(send("PUT", "/db", "").starts_with("HTTP/1.1 201 "));
    let long = format!("{{\"text\":\"{}\"}}", "x".repeat(1 << 20));
    for _ in 0..2 {
        let reply = send("PUT", "/db/long", &long);
        assert!(reply.starts_with("HTTP/1.1 507 "), "{reply}");
    }
    assert!(send("PUT", "/db/short", "{}").starts_with("HTTP/1.1 201 "));
    let id = child.id().to_string();
    assert!(Command::new("kill").arg(id).status().unwrap().success());
    assert!(child.wait().unwrap().success());
}

//! `--cmdserver unix`: a process for each client of a socket.

use super::super::{Twin, our_hg};
use super::{Connection, two_heads};
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use varve_testkit::peers::hg_program;

fn connect(socket: &Path) -> Connection<UnixStream, UnixStream> {
    let output = UnixStream::connect(socket).unwrap();
    let input = output.try_clone().unwrap();
    Connection { input, output }
}

fn listen(program: &Path, root: &Path, socket: &Path) -> Child {
    let mut server = Command::new(program)
        .args(["serve", "--cmdserver", "unix", "-a"])
        .arg(socket)
        .current_dir(root)
        .env("HGRCPATH", "/dev/null")
        .env("HGUSER", "u")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(server.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    assert_eq!(line, format!("listening at {}\n", socket.display()));
    server
}

#[test]
fn clients_of_a_socket_have_processes_of_their_own() {
    let twin = Twin::writing(two_heads);
    for (program, root) in [(hg_program(), twin.theirs()), (our_hg(), twin.ours())] {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("socket");
        let mut server = listen(&program, root, &socket);
        let mut clients = [connect(&socket), connect(&socket)];
        let pids = clients.each_mut().map(|client| {
            let (_, hello) = client.block().unwrap();
            let line = hello.lines().find(|line| line.starts_with("pid: "));
            let pid = line.unwrap().to_owned();
            assert!(
                hello.ends_with(&format!("pg{}", pid.replace("pid", "id"))),
                "{hello}"
            );
            pid
        });
        assert_ne!(pids[0], pids[1]);
        clients[0].request(&["log", "-r0", "-Tone", "--cwd", ".."]);
        clients[1].request(&["log", "-r0", "-Ttwo"]);
        assert_eq!(clients[1].answer(&[])[0], ('o', "two".to_owned()));
        assert_eq!(clients[0].answer(&[]).last().unwrap().1, "255");
        drop(clients);
        let pid = server.id().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
        assert_eq!(server.wait().unwrap().code(), Some(255), "{program:?}");
        assert!(!socket.exists());
    }
}

#[test]
fn a_file_that_is_there_is_no_place_for_a_socket() {
    let twin = Twin::writing(two_heads);
    for path in ["a", "nothing/socket"] {
        let arguments = ["serve", "--cmdserver", "unix", "-a", path];
        let both = twin.run(&arguments);
        both.same(&arguments);
        assert_eq!(both.ours.code, Some(255));
    }
}

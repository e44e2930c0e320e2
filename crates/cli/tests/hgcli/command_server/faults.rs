//! Signals, and clients that do not keep to the protocol.

use super::super::{Twin, our_hg};
use super::{Server, two_heads};
use std::path::Path;
use std::process::Command;
use varve_testkit::peers::hg_program;

fn signal(server: &Server, name: &str) {
    let pid = server.process.id().to_string();
    let sent = Command::new("kill").args(["-s", name, &pid]).status();
    assert!(sent.unwrap().success());
}

/// Waits until a hook has begun to run.
fn wait_for(path: &Path) {
    while !path.exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_signal_ends_a_call_and_leaves_the_server() {
    let twin = Twin::writing(two_heads);
    for (program, root) in [(hg_program(), twin.theirs()), (our_hg(), twin.ours())] {
        let mut server = Server::ready(&program, root, &[]);
        for (name, words) in [("INT", "interrupted!\n"), ("TERM", "killed!\n")] {
            let hook = "hooks.pre-root=touch begun; sleep 60";
            server.connection.request(&["root", "--config", hook]);
            wait_for(&root.join("begun"));
            signal(&server, name);
            let answer = server.connection.answer(&[]);
            let expected = [('e', words), ('r', "255")].map(|(c, text)| (c, text.to_owned()));
            assert_eq!(answer, expected, "{program:?}");
            let next = server.run(&["log", "-r0", "-Tnext"], &[]);
            assert_eq!(next[0], ('o', "next".to_owned()));
        }
        assert_eq!(server.end().0, Some(0));
    }
}

#[test]
fn an_interrupt_ends_a_server_that_waits_unless_that_is_switched_off() {
    let twin = Twin::writing(two_heads);
    for (program, root) in [(hg_program(), twin.theirs()), (our_hg(), twin.ours())] {
        let mut server = Server::ready(&program, root, &[]);
        assert_eq!(server.run(&["root", "-q"], &[]).len(), 2);
        signal(&server, "INT");
        let code = server.process.wait().unwrap().code();
        assert_eq!(code, Some(255), "{program:?}");
        assert_eq!(server.end().2, "interrupted!\n");
        let options = ["--config", "cmdserver.shutdown-on-interrupt=no"];
        let mut server = Server::ready(&program, root, &options);
        assert_eq!(server.run(&["root", "-q"], &[]).len(), 2);
        signal(&server, "INT");
        assert_eq!(server.run(&["root", "-q"], &[]).len(), 2);
        assert_eq!(server.end().0, Some(0));
    }
}

#[test]
fn other_requests_end_the_server_with_their_name() {
    let twin = Twin::writing(two_heads);
    let requests: &[&[u8]] = &[
        b"attachio\n",
        b"setumask\n\0\0\0\x04\0\0\0\x3f",
        b"getencoding\n",
        b"",
    ];
    for request in requests {
        let [theirs, ours] =
            [(hg_program(), twin.theirs()), (our_hg(), twin.ours())].map(|(program, root)| {
                let mut server = Server::ready(&program, root, &[]);
                server.connection.send(request);
                server.end()
            });
        assert_eq!(ours, theirs, "{request:?}");
    }
}

#[test]
fn a_cut_or_endless_request_runs_nothing() {
    let twin = Twin::writing(two_heads);
    for request in [
        &b"runcommand\n\0\0"[..],
        b"runcommand\n\0\0\0\x09init x",
        b"runcommand\n\xff\xff\xff\xffinit x",
    ] {
        let mut server = Server::ready(&our_hg(), twin.ours(), &[]);
        server.connection.send(request);
        let (code, out, err) = server.end();
        assert_eq!((code, &out[..]), (Some(255), ""));
        assert!(err.starts_with("abort: "), "{err}");
        assert!(!twin.ours().join("x").exists());
    }
}

#[test]
fn what_a_server_cannot_do_is_refused_by_name() {
    let twin = Twin::writing(two_heads);
    for (options, words) in [
        (
            &["serve", "--cmdserver", "nothing"][..],
            "abort: unknown mode nothing\n",
        ),
        (
            &["serve", "--cmdserver", "unix"],
            "abort: no socket path specified with --address\n",
        ),
        (
            &["serve", "--cmdserver", "pipe", "-R", "nothing"],
            "abort: repository nothing not found\n",
        ),
    ] {
        let both = twin.run(options);
        both.same(options);
        assert_eq!(both.ours.stderr, words);
    }
    let chg = Command::new(our_hg())
        .args(["serve", "--cmdserver", "chgunix", "-a", "socket"])
        .current_dir(twin.ours())
        .output()
        .unwrap();
    let words = String::from_utf8(chg.stderr).unwrap();
    assert!(words.starts_with("abort: serve --cmdserver chgunix is not supported\n"));
    let mut server = Server::ready(&our_hg(), twin.ours(), &[]);
    let nested = server.run(&["serve", "--cmdserver", "pipe"], &[]);
    let words = "abort: a command server does not start servers\n".to_owned();
    assert_eq!(nested, [('e', words), ('r', "255".to_owned())]);
}

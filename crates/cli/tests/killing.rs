//! Processes that are killed in the middle of their work, once it shows on the disk.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Between two looks.
const PAUSE: Duration = Duration::from_micros(200);

/// A program without output and without a user's configuration.
pub(crate) fn start(program: &Path, directory: &Path, arguments: &[&str]) -> Child {
    start_with_input(program, directory, arguments, Stdio::null())
}

/// The same with an input.
pub(crate) fn start_with_input(
    program: &Path,
    directory: &Path,
    arguments: &[&str],
    input: Stdio,
) -> Child {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory);
    command.env("HGRCPATH", "").env("HGPLAIN", "1");
    command.env("HGUSER", "ada").stdin(input);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// How often one can look at work that is under way, from its beginning to its end.
pub(crate) fn looks(worker: &mut Child, is_under_way: impl Fn() -> bool) -> u32 {
    let mut looks = 0;
    while worker.try_wait().unwrap().is_none() {
        looks += u32::from(is_under_way());
        thread::sleep(PAUSE);
    }
    assert!(looks > 0, "the work was never seen");
    looks
}

/// Waits until work has begun, and then for so many looks more; tells whether it is still under way.
pub(crate) fn is_caught(worker: &mut Child, is_under_way: impl Fn() -> bool, more: u32) -> bool {
    let mut left = more;
    let mut has_begun = false;
    while worker.try_wait().unwrap().is_none() {
        let is_now = is_under_way();
        match (has_begun, is_now, left) {
            (_, true, 0) => return true,
            (true, false, _) => return false,
            (_, true, _) => left -= 1,
            (false, false, _) => {}
        }
        has_begun |= is_now;
        thread::sleep(PAUSE);
    }
    false
}

/// Kills a process as `kill -9` does; tells whether it had not ended by itself.
pub(crate) fn kill(mut worker: Child) -> bool {
    // It may have ended already.
    let _ = worker.kill();
    worker.wait().unwrap().signal() == Some(9)
}

/// Bytes of all files below a directory, as far as they can be seen.
pub(crate) fn bytes_below(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let lengths = entries.map(|entry| match entry.metadata() {
        Ok(known) if known.is_dir() => bytes_below(&entry.path()),
        Ok(known) => known.len(),
        // It has been removed meanwhile.
        Err(_) => 0,
    });
    lengths.sum()
}

/// A proxy for a server that lets so many bytes of requests through and no more: a client that sends more
/// waits for an answer until it is killed. Gives its URL, and the number of bytes left.
pub(crate) fn held_back(server: &str, requests: usize) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let left = Arc::new(AtomicUsize::new(requests));
    let (server, shared) = (server.to_owned(), Arc::clone(&left));
    thread::spawn(move || {
        for client in listener.incoming() {
            let (Ok(client), Ok(server)) = (client, TcpStream::connect(&server)) else {
                return;
            };
            let (from, to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let left = Arc::clone(&shared);
            thread::spawn(move || pass(client, server, &left));
            thread::spawn(move || pass(from, to, &AtomicUsize::new(usize::MAX)));
        }
    });
    (format!("http://{address}"), left)
}

fn pass(mut from: TcpStream, mut to: TcpStream, left: &AtomicUsize) {
    let mut bytes = [0; 4096];
    while let Ok(len @ 1..) = from.read(&mut bytes) {
        let may = left.load(Ordering::SeqCst).min(len);
        if to.write_all(&bytes[..may]).is_err() {
            break;
        }
        left.fetch_sub(may, Ordering::SeqCst);
    }
    // Either may be closed already.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

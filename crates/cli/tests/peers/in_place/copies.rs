//! Copies of a file by another program while the database is compacted.

use super::{SETTINGS, cold, compact, edit, has_holes, inode};
use crate::peers::Site;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use varve_testkit::varve::configure;

/// A shared lock on a file.
enum Lock {
    /// Held by `flock`, until its input ends.
    Program(Child),
    /// Held by a handle, where there is no such program.
    Handle(File),
}

impl Lock {
    fn take(file: &Path) -> Lock {
        let mut flock = Command::new("flock");
        flock.arg("-s").arg(file);
        flock.args(["sh", "-c", "echo held; read line"]);
        let made = flock.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = made else {
            let file = File::open(file).unwrap();
            file.lock_shared().unwrap();
            return Lock::Handle(file);
        };
        let mut said = String::new();
        let out = child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut said).unwrap();
        assert_eq!(said, "held\n");
        Lock::Program(child)
    }

    fn release(self) {
        match self {
            Lock::Program(mut child) => {
                drop(child.stdin.take());
                child.wait().unwrap();
            }
            Lock::Handle(file) => file.unlock().unwrap(),
        }
    }
}

#[test]
fn a_file_that_is_copied_under_a_shared_lock_stays_whole() {
    let (site, server, mut known) = cold();
    let mut admin = server.admin();
    for step in 0..200 {
        let id = match step % 5 {
            0 => format!("kept-{step}"),
            _ => "hot".to_owned(),
        };
        edit(&mut admin, &id, &mut known).unwrap();
    }
    let file = site.database_file("ledger");
    let (before, first) = (std::fs::read(&file).unwrap(), inode(&file));
    let lock = Lock::take(&file);
    // A program that takes the length at the beginning, and reads the rest when all was moved.
    let (mut copy, mut source) = (Vec::new(), File::open(&file).unwrap());
    let len = source.metadata().unwrap().len();
    source
        .by_ref()
        .take(len / 2)
        .read_to_end(&mut copy)
        .unwrap();
    compact(&server);
    source.take(len - len / 2).read_to_end(&mut copy).unwrap();
    assert_eq!(inode(&file), first, "it was not compacted in place");
    assert!(copy == before, "not what stood there when it began");
    assert!(
        std::fs::metadata(&file).unwrap().len() > len,
        "nothing was moved"
    );
    lock.release();
    compact(&server);
    let now = std::fs::read(&file).unwrap();
    assert!(now[..before.len()] != before, "the lock is gone");
    assert_eq!(has_holes(&file), inode(&file) == first);
    let other = Site::new();
    configure(other.path(), SETTINGS);
    std::fs::create_dir(other.path().join("databases")).unwrap();
    std::fs::write(other.path().join("databases/ledger.varve"), copy).unwrap();
    for server in [server, other.serve()] {
        let found = super::check(&server, &known);
        assert_eq!(found.len(), known.len());
    }
}

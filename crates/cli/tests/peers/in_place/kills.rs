//! `kill -9` in the middle of compactions in place.

use super::{Documents, cold, compact, edit, has_holes, inode, verify};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use varve_testkit::http::Client;
use varve_testkit::varve::{ADMIN, PASSWORD, Server};

/// Kills in a row on one directory: each start recovers from the one before.
const ROUNDS: u32 = 8;
/// Clients that write at the same time.
const WRITERS: u32 = 4;
/// Documents that each of them edits again and again.
const HOT: u32 = 4;
/// How often it is asked whether a compaction moves something.
const LOOKS: u32 = 2000;

fn client(address: &str) -> Client {
    Client::new(address).with_basic(ADMIN, PASSWORD)
}

/// Edits its documents until the server is gone, and now and then makes one that stays, so that a
/// little is needed of each future hole. Returns all edits answered with success.
fn write_until_killed(
    address: &str,
    (writer, round): (u32, u32),
    mut known: Documents,
    killed: &AtomicBool,
) -> Documents {
    let mut client = client(address);
    for step in 0.. {
        let id = match step % 5 {
            0 => format!("kept-{writer}-{round:02}-{step:05}"),
            _ => format!("hot-{writer}-{}", step % HOT),
        };
        match edit(&mut client, &id, &mut known) {
            Ok(()) => {}
            Err(_) if killed.load(Ordering::SeqCst) => break,
            Err(e) => panic!("{id}: the server broke off: {e}"),
        }
    }
    known
}

/// Has the database compacted again and again until the server is gone.
fn compact_until_killed(address: &str, killed: &AtomicBool) {
    let mut client = client(address);
    let json = [("Content-Type", "application/json")];
    while !killed.load(Ordering::SeqCst) {
        if let Ok(answer) = client.request("POST", "/ledger/_compact", &json, b"") {
            assert_eq!(answer.status, 202, "{}", answer.text());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits for a compaction that moves documents or makes holes; whether there was one.
fn wait_for_movement(address: &str) -> bool {
    let mut client = client(address);
    (0..LOOKS).any(|_| {
        let tasks = client.get("/_active_tasks").expect_status(200).json();
        let mut tasks = tasks.as_array().unwrap().iter();
        // A copy has this step, too, but leaves a file.
        tasks.any(|task| task["type"] == "database_compaction" && task["phase"] == "docid_copy")
    })
}

/// Kills the server during writes and a compaction; returns the acknowledged edits, and whether a
/// compaction was seen right before.
fn one_round(server: Server, round: u32, known: &Documents) -> (Documents, bool) {
    let killed = AtomicBool::new(false);
    let address = server.address().to_owned();
    std::thread::scope(|scope| {
        scope.spawn(|| compact_until_killed(&address, &killed));
        let start = |writer| {
            let (address, killed, known) = (&address, &killed, known.clone());
            scope.spawn(move || write_until_killed(address, (writer, round), known, killed))
        };
        let writers: Vec<_> = (0..WRITERS).map(start).collect();
        // Moments spread over several commits, different in each round.
        let moment = 100 + u64::from(round) * 53 % 200;
        std::thread::sleep(Duration::from_millis(moment));
        let is_seen = wait_for_movement(&address);
        killed.store(true, Ordering::SeqCst);
        server.kill();
        let mut acknowledged = known.clone();
        for writer in writers {
            // Each has edited its own ones only.
            let written = writer.join().unwrap().into_iter();
            let newer = written.filter(|(id, version)| {
                let known = acknowledged.get(id);
                known.is_none_or(|known| version.n > known.n)
            });
            let newer: Vec<_> = newer.collect();
            acknowledged.extend(newer);
        }
        (acknowledged, is_seen)
    })
}

#[test]
fn nothing_is_lost_by_kills_in_the_middle_of_compactions_in_place() {
    let (site, mut server, mut known) = cold();
    let file = site.database_file("ledger");
    let (first, begun) = (inode(&file), known.len());
    let (mut cut, mut edits) = (0, 0);
    for round in 0..ROUNDS {
        let (acknowledged, is_seen) = one_round(server, round, &known);
        let has_copy = file.with_extension("varve.compact").exists();
        cut += u32::from(is_seen && !has_copy);
        let of = |known: &Documents| known.values().map(|version| version.n).sum::<u64>();
        edits += of(&acknowledged) - of(&known);
        server = site.serve();
        known = super::check(&server, &acknowledged);
    }
    assert!(cut >= ROUNDS / 2, "only {cut} kills hit a compaction");
    let kept = known.len() - begun;
    assert!(
        edits > 200 && kept > 50,
        "only {edits} edits and {kept} documents"
    );
    compact(&server);
    // File systems without holes have it copied.
    assert_eq!(has_holes(&file), inode(&file) == first);
    super::check(&server, &known);
    assert!(server.stop("TERM").status.success());
    verify(&site);
}

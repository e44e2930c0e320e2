//! Pushes that hold more than they seem to.

use super::{OPEN, Pair};
use std::io::{Read, Write};
use std::process::{Command, Stdio};

/// Bytes of zeros that one chunk says that it has.
const CHUNK: u32 = 2_100_000_000;
/// The server may need so many bytes for a push of which few bytes came.
const MEMORY: u64 = 400 << 20;

/// A bundle2, compressed by Python's zstandard, with a changegroup whose first chunk has [`CHUNK`] zeros.
fn zeros() -> Vec<u8> {
    let header = b"\x0bCHANGEGROUP\0\0\0\0\x01\0\x07\x02version02";
    let mut head = Vec::new();
    head.extend((header.len() as u32).to_be_bytes());
    head.extend(header);
    head.extend((CHUNK + 4).to_be_bytes());
    head.extend((CHUNK + 4).to_be_bytes());
    let hex: String = head.iter().map(|byte| format!("{byte:02x}")).collect();
    let script = format!(
        "import sys, zlib\nc = zlib.compressobj(9)\nout = sys.stdout.buffer\n\
         out.write(c.compress(bytes.fromhex('{hex}')))\nzeros = bytes(1 << 20)\n\
         for _ in range({CHUNK} >> 20): out.write(c.compress(zeros))\nout.write(c.flush())\n"
    );
    let mut python = Command::new("python3");
    let run = python.args(["-c", &script]).stdout(Stdio::piped()).spawn();
    let mut compressed = Vec::new();
    let mut run = run.unwrap();
    run.stdout
        .take()
        .unwrap()
        .read_to_end(&mut compressed)
        .unwrap();
    assert!(run.wait().unwrap().success());
    let params = b"Compression=GZ";
    let mut bundle = b"HG20".to_vec();
    bundle.extend((params.len() as u32).to_be_bytes());
    bundle.write_all(params).unwrap();
    bundle.extend(compressed);
    bundle
}

#[test]
fn a_short_push_takes_little_memory_whatever_it_declares() {
    let pair = Pair::new(OPEN);
    let bundle = zeros();
    let mut client = pair.ours.anonymous();
    let path = "/hg/r?cmd=unbundle&heads=666f726365";
    // Only the beginning, as an attacker would send it, and all.
    for sent in [&bundle[..1572], &bundle[..]] {
        let answer = client.request("POST", path, &[], sent).unwrap();
        assert_eq!(answer.status, 200);
        let peak = pair.ours.peak_memory();
        assert!(peak < MEMORY, "{peak} bytes for {} bytes", sent.len());
    }
    let server = &pair.servers()[0];
    assert_eq!(pair.hg.ok(server, &["log", "-T", "."]), "...");
    assert!(!server.join(".hg/store/journal").exists());
}

#[test]
fn a_push_that_is_longer_than_the_setting_is_refused() {
    let mut pair = Pair::new(OPEN);
    pair.commit("n");
    pair.configure(&format!("{OPEN}max-push-size = 100\n"));
    let client = &pair.clients()[0];
    let url = &pair.urls()[0];
    let told = pair.hg.run(client, &["push", url]);
    assert_ne!(told.code, Some(0));
    let words = "this server takes no push of more than 100 bytes (web.max-push-size)";
    assert!(told.to_string().contains(words), "{told}");
    assert_eq!(pair.hg.ok(&pair.servers()[0], &["log", "-T", "."]), "...");
    pair.configure(&format!("{OPEN}max-push-size = 1 MB\n"));
    pair.hg.ok(client, &["push", &pair.urls()[0]]);
}

//! `bench load` against servers that answer as they should not.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use varve_base::{Interrupt, Silent};
use varve_bench::BenchError;
use varve_bench::load::{self, Options};
use varve_bench::report::{self, Report};

/// A server that waits before it answers a write of the load, and closes a connection instead of giving it more than `answers`.
fn serve(pause: Duration, answers: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream, pause, answers));
        }
    });
    format!("http://127.0.0.1:{port}/slow")
}

/// Answers the requests of one connection, until the client goes or what it sends is no request.
fn answer(stream: TcpStream, pause: Duration, answers: usize) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    for _ in 0..answers {
        let (mut first, mut length) = (String::new(), 0);
        reader.read_line(&mut first).ok()?;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            if line.trim().is_empty() {
                break;
            }
            let lower = line.to_lowercase();
            if let Some(text) = lower.strip_prefix("content-length:") {
                length = text.trim().parse().ok()?;
            }
        }
        reader.read_exact(&mut vec![0; length]).ok()?;
        if first.starts_with("PUT /slow/load") {
            std::thread::sleep(pause);
        }
        let words = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}";
        stream.write_all(words.as_bytes()).ok()?;
    }
    // A connection that was closed before the next request would be replaced by a new one, unnoticed.
    reader.read_line(&mut String::new()).ok()?;
    None
}

fn run(url: &str, rate: Option<f64>) -> Result<Report, BenchError> {
    let options = Options {
        documents: vec![b"{}".to_vec()],
        mix: "write=1".parse().unwrap(),
        clients: 1,
        batch: 1,
        rate,
        duration: Duration::from_millis(200),
        query: String::new(),
        runs: 3,
    };
    load::run(url, &options, &Silent, &Interrupt::default())
}

#[test]
fn a_stalled_server_is_charged_for_what_it_kept_from_being_sent() {
    let url = serve(Duration::from_millis(30), usize::MAX);
    let report = run(&url, Some(100.0)).unwrap();
    let value: Value = serde_json::from_str(&report::json(&report)).unwrap();
    let row = &value["tables"]["requests"]["rows"][0];
    // Requests are due three times as often as they are answered, so that the last one waits for most of the run,
    // however slow this machine is.
    assert!(row["max"].as_u64().unwrap() > 90_000, "{row}");
}

#[test]
fn a_server_that_goes_away_ends_the_measurement() {
    let url = serve(Duration::ZERO, 2);
    let dropped = run(&url, None).map(drop).unwrap_err();
    assert!(matches!(dropped, BenchError::Server { .. }), "{dropped}");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let refused = run(&format!("http://127.0.0.1:{port}/d"), None);
    assert!(matches!(refused.map(drop), Err(BenchError::Server { .. })));
}

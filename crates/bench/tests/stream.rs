//! Requests of `bench stream` to servers that answer as they should not.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use varve_base::{Interrupt, Silent};
use varve_bench::BenchError;
use varve_bench::report::{self, Report};
use varve_bench::stream::{self, Options, Subject};

/// A server of which every answer to `getbundle` is what `body` says, by the number of such requests so far.
fn serve(capabilities: &'static str, body: fn(usize) -> Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let count = Arc::clone(&count);
            std::thread::spawn(move || answer(stream, capabilities, body, &count));
        }
    });
    format!("http://127.0.0.1:{port}/r")
}

/// Answers the requests of one connection, until the client goes.
fn answer(
    stream: TcpStream,
    capabilities: &str,
    body: fn(usize) -> Vec<u8>,
    count: &AtomicUsize,
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let mut first = String::new();
        reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            if line.trim().is_empty() {
                break;
            }
        }
        let (kind, body) = match first.split(['=', '&', ' ']).nth(2)? {
            "capabilities" => ("0.1", capabilities.as_bytes().to_vec()),
            "heads" => ("0.1", [&b"12".repeat(20)[..], b"\n"].concat()),
            _ => {
                let number = count.fetch_add(1, Ordering::SeqCst);
                let name = b"\x04none";
                ("0.2", [&name[..], &body(number)].concat())
            }
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/mercurial-{kind}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(&body).ok()?;
    }
}

fn run(url: &str) -> Result<Report, BenchError> {
    let options = Options {
        clients: vec![1, 3],
        runs: 3,
    };
    let subject = Subject::Url(url.to_owned());
    stream::run(&subject, &options, &Silent, &Interrupt::default())
}

const WITHOUT_STREAMS: &str =
    "getbundle batch httpheader=1024 httpmediatype=0.1rx,0.1tx,0.2tx compression=none";

#[test]
fn a_server_without_stream_clones_is_measured_by_pulls_alone() {
    let report = run(&serve(WITHOUT_STREAMS, |_| vec![7; 1000])).unwrap();
    let json: serde_json::Value = serde_json::from_str(&report::json(&report)).unwrap();
    let rows = json["tables"]["answers"]["rows"].as_array().unwrap();
    let named = |row: &serde_json::Value| (row["request"].clone(), row["clients"].clone());
    let names: Vec<_> = rows.iter().map(named).collect();
    assert_eq!(
        names,
        [("pull".into(), "1".into()), ("pull".into(), "3".into())]
    );
    for row in rows {
        assert_eq!(row["expanded"], 1000);
        assert_eq!(row["throughput"]["runs"].as_array().unwrap().len(), 3);
    }
    let notes = report.notes.join("\n");
    assert!(notes.contains("stream clones switched off"), "{notes}");
}

#[test]
fn answers_of_other_contents_or_lengths_end_the_measurement() {
    // The first is of a client alone, the second of the first run; the three after it are of three clients at once.
    let contents = run(&serve(WITHOUT_STREAMS, |number| vec![number as u8; 1000]));
    assert!(matches!(contents, Err(BenchError::OtherAnswer { .. })));
    let lengths = run(&serve(WITHOUT_STREAMS, |number| vec![7; 1000 + number / 8]));
    assert!(matches!(lengths, Err(BenchError::OtherAnswer { .. })));
    let refused = run("http://127.0.0.1:1/r")
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(!refused.is_empty());
}

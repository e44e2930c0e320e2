//! `docs/tour.md` is run, and what its commands print is compared with what it says they print.

use crate::VARVE;
use regex::Regex;
use std::fmt::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use varve_testkit::peers::{hg_program, node_modules};
use varve_testkit::varve::Server;
use varve_testkit::workspace_root;

/// The command that the test starts by itself, on a free port.
const START: &str = "cargo run --release -- serve demo";
/// Address and password as the tour has them.
const PORT: &str = "5984";
const PASSWORD: &str = "utrbkitdm3yc94q226cc";
const DEADLINE: Duration = Duration::from_secs(60);
/// A line of the tour that stands for any number of lines.
const ANY_LINES: &str = "...";
/// Stands before the output of each command.
const MARK: &str = "<<< ";

/// A command and the lines that it prints.
#[derive(Debug, PartialEq)]
struct Step {
    command: String,
    output: Vec<String>,
}

/// The contents of all blocks of one language.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let begin = format!("\n```{language}\n");
    let blocks = text.split(&begin).skip(1);
    blocks
        .map(|rest| rest.split("\n```\n").next().unwrap())
        .collect()
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::<Step>::new();
    for line in blocks(text, "console").iter().flat_map(|b| b.lines()) {
        match line.strip_prefix("$ ") {
            Some(command) => steps.push(Step {
                command: command.to_owned(),
                output: Vec::new(),
            }),
            None => steps.last_mut().unwrap().output.push(line.to_owned()),
        }
    }
    steps
}

/// Runs all commands in one shell; gives what each printed.
fn run(commands: &[String], directory: &Path) -> Vec<Vec<String>> {
    let bin = directory.join("bin");
    std::fs::create_dir(&bin).unwrap();
    symlink(VARVE, bin.join("varve")).unwrap();
    symlink(hg_program(), bin.join("hg")).unwrap();
    let mut script = String::from("exec 2>&1\n");
    for command in commands {
        writeln!(script, "echo '{MARK}'\n{command}").unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    let mut shell = Command::new("bash");
    shell
        .args(["-c", &script])
        .current_dir(directory)
        .stdin(Stdio::null())
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("NODE_PATH", node_modules())
        .env("HGRCPATH", "");
    let printed = shell.output().unwrap().stdout;
    let printed = String::from_utf8(printed).unwrap();
    let mark = format!("{MARK}\n");
    let outputs = printed.split(&mark).skip(1);
    outputs
        .map(|output| output.lines().map(str::to_owned).collect())
        .collect()
}

/// Hides what differs from run to run.
fn masked(command: &str, line: &str) -> String {
    let figures = match command.starts_with("varve bench") {
        true => r"[ 0-9(][ 0-9.()-]*",
        false => r"[0-9.]+ (seconds|[KM]B/sec|bytes)",
    };
    let figures = Regex::new(figures).unwrap();
    figures.replace_all(line, "#").into_owned()
}

/// Whether lines are as expected, where [`ANY_LINES`] stands for any number of them.
fn matches(expected: &[String], printed: &[String]) -> bool {
    match (expected, printed) {
        ([], []) => true,
        ([any, rest @ ..], _) if any == ANY_LINES => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        ([first, rest @ ..], [line, others @ ..]) => first == line && matches(rest, others),
        _ => false,
    }
}

#[track_caller]
fn compare(step: &Step, printed: &[String]) {
    let mask = |lines: &[String]| -> Vec<String> {
        let lines = lines.iter();
        lines.map(|line| masked(&step.command, line)).collect()
    };
    let (expected, printed) = (mask(&step.output), mask(printed));
    assert!(
        matches(&expected, &printed),
        "$ {}\nexpected:\n{}\nprinted:\n{}",
        step.command,
        expected.join("\n"),
        printed.join("\n")
    );
}

/// All that a start prints; its last line asks for changes.
fn greeting(server: &Server) -> String {
    let begun = Instant::now();
    loop {
        let printed = server.printed();
        if printed.contains("include_docs=true'\n") {
            return printed;
        }
        assert!(begun.elapsed() < DEADLINE, "{printed}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_tour_prints_what_it_says() {
    let text = std::fs::read_to_string(workspace_root().join("docs/tour.md")).unwrap();
    let steps = steps(&text);
    let (start, rest) = steps.split_first().unwrap();
    assert_eq!(start.command, START);
    let directory = tempfile::tempdir().unwrap();
    let server = Server::try_start_in(VARVE, directory.path(), "demo").unwrap();
    let port = server.address().rsplit(':').next().unwrap().to_owned();
    let greeting = greeting(&server);
    let password = greeting.split("admin password: ").nth(1).unwrap();
    let password = password.lines().next().unwrap().to_owned();
    let as_in_the_tour = |text: &str| text.replace(&port, PORT).replace(&password, PASSWORD);
    let as_here = |text: &str| text.replace(PORT, &port).replace(PASSWORD, &password);
    let lines = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
    compare(start, &lines(&as_in_the_tour(&greeting)));
    let script = as_here(blocks(&text, "js")[0]);
    std::fs::write(directory.path().join("sync.js"), script).unwrap();
    let commands: Vec<String> = rest.iter().map(|step| as_here(&step.command)).collect();
    let outputs = run(&commands, directory.path());
    assert_eq!(outputs.len(), rest.len());
    for (step, output) in rest.iter().zip(outputs) {
        let output = lines(&as_in_the_tour(&output.join("\n")));
        compare(step, &output);
    }
}

#[test]
fn lines_are_compared_with_gaps_and_masks() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(matches(&lines("a\n...\nd"), &lines("a\nb\nc\nd")));
    assert!(matches(&lines("a\n..."), &lines("a")));
    assert!(!matches(&lines("a\n...\nd"), &lines("a\nb")));
    assert!(!matches(&lines("a"), &lines("a\nb")));
    assert!(!matches(&lines("a\nb"), &lines("a")));
    assert_eq!(
        masked("hg clone", "8 KB in 0.1 seconds (3 KB/sec)"),
        "8 KB in # (#)"
    );
    assert_eq!(masked("varve bench x", "zstd  12 (1-2)"), "zstd#");
}

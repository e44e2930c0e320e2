//! Calls of `hg` without its start: they fork from a process of Python that has it loaded.

use super::{Outcome, hg_program, installed};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use tempfile::NamedTempFile;

const PROGRAM: &str = include_str!("fork_server.py");

/// Variables that Mercurial or Python reads when it is loaded; the server has [`LOCALE`] only.
const AT_LOADING: &[&str] = &["LC_", "LANG", "PYTHON", "HGENCODING", "HGMODULEPOLICY"];
const LOCALE: (&str, &str) = ("LC_ALL", "C.UTF-8");

/// Runs `hg` with the arguments, the directory and nothing but the variables that `command` sets, and
/// waits for its end. Its standard input is empty.
pub fn run_hg(command: &mut Command) -> Outcome {
    run_hg_with_input(command, Path::new("/dev/null"))
}

/// [`run_hg`] whose standard input is a file: answers to what it asks.
pub fn run_hg_with_input(command: &mut Command, input: &Path) -> Outcome {
    if !is_as_loaded(command) {
        command.stdin(File::open(input).unwrap());
        return Outcome::of(command, &hg_program());
    }
    let outputs = [(); 2].map(|()| NamedTempFile::new_in(crate::scratch()).unwrap());
    let mut fields: Vec<Vec<u8>> = Vec::new();
    let mut field = |parts: &[&OsStr]| {
        fields.push(
            parts
                .iter()
                .flat_map(|part| part.as_bytes())
                .copied()
                .collect(),
        );
    };
    field(&[command.get_current_dir().unwrap().as_os_str()]);
    field(&[input.as_os_str()]);
    for output in &outputs {
        field(&[output.path().as_os_str()]);
    }
    let variables: Vec<_> = command
        .get_envs()
        .filter_map(|(k, v)| Some((k, v?)))
        .collect();
    field(&[OsStr::new(&variables.len().to_string())]);
    for (name, value) in variables {
        field(&[name, OsStr::new("="), value]);
    }
    command.get_args().for_each(|argument| field(&[argument]));

    let mut connection = UnixStream::connect(socket()).unwrap();
    for field in fields {
        assert!(!field.contains(&0), "{command:?}");
        connection.write_all(&[&field[..], b"\0"].concat()).unwrap();
    }
    connection.shutdown(Shutdown::Write).unwrap();
    let mut status = String::new();
    connection.read_to_string(&mut status).unwrap();
    let status: i32 = status
        .parse()
        .unwrap_or_else(|_| panic!("no end: {command:?}"));
    let [stdout, stderr] = outputs.map(|output| std::fs::read(output.path()).unwrap());
    Outcome::new(command, (status >= 0).then_some(status), &stdout, &stderr)
}

/// Runs either program to its end, the installed `hg` as [`run_hg`] does where the command sets `LC_ALL`.
pub fn run(command: &mut Command) -> Outcome {
    let program = Path::new(command.get_program()).to_owned();
    match program == hg_program() {
        true => run_hg(command),
        false => Outcome::of(command, &program),
    }
}

fn is_as_loaded(command: &Command) -> bool {
    command.get_envs().all(|(name, value)| {
        let name = name.to_string_lossy();
        (&*name, value) == (LOCALE.0, Some(OsStr::new(LOCALE.1)))
            || !AT_LOADING.iter().any(|start| name.starts_with(start))
    }) && command.get_envs().any(|(name, _)| name == LOCALE.0)
}

/// Where the server of this process listens. It ends when its standard input does, which is with
/// this process.
fn socket() -> &'static Path {
    static SERVER: OnceLock<(PathBuf, Child)> = OnceLock::new();
    let (socket, _) = SERVER.get_or_init(|| {
        let mut process = Command::new(installed("venv/bin/python"))
            .args(["-c", PROGRAM])
            .arg(hg_program())
            .env_clear()
            .env(LOCALE.0, LOCALE.1)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut socket = String::new();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        lines.read_line(&mut socket).unwrap();
        assert!(!socket.is_empty(), "no Mercurial in the peers' Python");
        (socket.trim_end().into(), process)
    });
    socket
}

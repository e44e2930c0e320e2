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
    let outcomes = call(&[&*command], input);
    outcomes.into_iter().next().unwrap()
}

/// Runs commands one after the other in one process, which takes a third of the time. For commands that change nothing,
/// with the directory and the variables of the first.
pub(super) fn run_all(commands: &[&Command]) -> Vec<Outcome> {
    assert!(is_as_loaded(commands[0]), "{:?}", commands[0]);
    call(commands, Path::new("/dev/null"))
}

/// Parts of a call: fields that end with a NUL byte, and lists that begin with their length.
#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn push(&mut self, field: &OsStr) {
        assert!(!field.as_bytes().contains(&0), "{field:?}");
        self.0.extend(field.as_bytes());
        self.0.push(0);
    }

    fn push_list<'f>(&mut self, list: impl ExactSizeIterator<Item = &'f OsStr>) {
        self.push(list.len().to_string().as_ref());
        list.for_each(|field| self.push(field));
    }
}

/// Sends a call to the server and waits for the end of its commands.
fn call(commands: &[&Command], input: &Path) -> Vec<Outcome> {
    let first = commands[0];
    let mut fields = Fields::default();
    fields.push(first.get_current_dir().unwrap().as_os_str());
    fields.push(input.as_os_str());
    let variables = first.get_envs().filter_map(|(name, value)| {
        let mut variable = name.to_owned();
        variable.push("=");
        variable.push(value?);
        Some(variable)
    });
    let variables: Vec<_> = variables.collect();
    fields.push_list(variables.iter().map(|it| it.as_os_str()));
    fields.push(commands.len().to_string().as_ref());
    let outputs: Vec<_> = commands.iter().map(|_| new_outputs()).collect();
    for (command, outputs) in commands.iter().zip(&outputs) {
        outputs
            .iter()
            .for_each(|output| fields.push(output.path().as_os_str()));
        fields.push_list(command.get_args());
    }

    let mut connection = UnixStream::connect(socket()).unwrap();
    connection.write_all(&fields.0).unwrap();
    connection.shutdown(Shutdown::Write).unwrap();
    let mut statuses = String::new();
    connection.read_to_string(&mut statuses).unwrap();
    let statuses: Vec<i32> = statuses.split(' ').flat_map(str::parse).collect();
    assert_eq!(statuses.len(), commands.len(), "no end: {commands:?}");
    let ended = commands.iter().zip(outputs).zip(statuses);
    ended
        .map(|((command, outputs), status)| {
            let [stdout, stderr] = outputs.map(|output| std::fs::read(output.path()).unwrap());
            Outcome::new(command, (status >= 0).then_some(status), &stdout, &stderr)
        })
        .collect()
}

/// Files for the standard output and the standard error of a command.
fn new_outputs() -> [NamedTempFile; 2] {
    [(); 2].map(|()| NamedTempFile::new_in(crate::scratch()).unwrap())
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

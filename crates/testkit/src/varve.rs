//! Starts, kills and stops the real `varve`.

use crate::http::Client;
use parking_lot::Mutex;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Name of the administrator that [`Server::start`] configures.
pub const ADMIN: &str = "admin";
/// The administrator's password.
pub const PASSWORD: &str = "layers-of-silt";
/// Prefix of the address in the line that says the server is ready.
const READY: &str = "listening on http";
/// Far more than a start needs on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(120);

/// A running `varve serve`; dropping it kills it.
#[derive(Debug)]
pub struct Server {
    child: Child,
    address: String,
    printed: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

/// How a server ended and everything it printed, standard output and error together.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// Printed text.
    pub printed: String,
}

impl Server {
    /// Serves `directory` on a free port and waits until it answers. Unless there is a `varve.ini`,
    /// one is written that configures [`ADMIN`] with [`PASSWORD`].
    ///
    /// `program` is `env!("CARGO_BIN_EXE_varve")` of the calling test.
    #[track_caller]
    pub fn start(program: &str, directory: &Path) -> Server {
        let settings = directory.join("varve.ini");
        if !settings.exists() {
            configure(directory, "");
        }
        Server::try_start(program, directory).unwrap_or_else(|e| panic!("no start: {e:?}"))
    }

    /// Serves `directory` as it is, on a free port.
    ///
    /// # Errors
    /// How the server ended, if it ended before it said its address.
    pub fn try_start(program: &str, directory: &Path) -> Result<Server, Ended> {
        Server::start_with(program, directory, &[])
    }

    /// As [`Server::try_start`], with further options.
    ///
    /// # Errors
    /// As of [`Server::try_start`].
    pub fn start_with(program: &str, directory: &Path, options: &[&str]) -> Result<Server, Ended> {
        Server::start_in_environment(program, directory, options, &[])
    }

    /// As [`Server::start_with`], with further variables of the environment.
    ///
    /// # Errors
    /// As of [`Server::try_start`].
    pub fn start_in_environment(
        program: &str,
        directory: &Path,
        options: &[&str],
        variables: &[(&str, String)],
    ) -> Result<Server, Ended> {
        let mut command = Command::new(program);
        command.arg("serve").arg(directory).args(["-p", "0"]);
        let variables = variables.iter().map(|(name, value)| (name, value));
        Server::of(command.args(options).envs(variables), program)
    }

    /// As [`Server::try_start`], on a port that the caller knows to be free.
    ///
    /// # Errors
    /// As of [`Server::try_start`].
    pub fn start_at(program: &str, directory: &Path, port: u16) -> Result<Server, Ended> {
        let mut command = Command::new(program);
        command.arg("serve").arg(directory);
        Server::of(command.args(["-p", &port.to_string()]), program)
    }

    /// As [`Server::try_start`], for a user who is in `directory` and names the directory `name` in it.
    ///
    /// # Errors
    /// As of [`Server::try_start`].
    pub fn try_start_in(program: &str, directory: &Path, name: &str) -> Result<Server, Ended> {
        let mut command = Command::new(program);
        command.args(["serve", name, "-p", "0"]);
        Server::of(command.current_dir(directory), program)
    }

    fn of(command: &mut Command, program: &str) -> Result<Server, Ended> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start {program}: {e}"));
        let printed = Arc::new(Mutex::new(String::new()));
        let (ready, address) = mpsc::channel();
        let readers = vec![
            follow(child.stdout.take(), &printed, ready.clone()),
            follow(child.stderr.take(), &printed, ready),
        ];
        let mut server = Server {
            child,
            address: String::new(),
            printed,
            readers,
        };
        match address.recv_timeout(START_LIMIT) {
            Ok(address) => {
                server.address = address;
                Ok(server)
            }
            // Both outputs are closed: it has ended.
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(server.wait()),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                panic!("no line {READY:?} came in time: {}", server.printed())
            }
        }
    }

    /// Address and port, such as `127.0.0.1:41234`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// URL of a path that begins with `/`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// URL of a path, with the administrator's name and password in it.
    pub fn admin_url(&self, path: &str) -> String {
        format!("http://{ADMIN}:{PASSWORD}@{}{path}", self.address)
    }

    /// A client without a login.
    pub fn anonymous(&self) -> Client {
        Client::new(&self.address)
    }

    /// A client that is the administrator.
    pub fn admin(&self) -> Client {
        Client::new(&self.address).with_basic(ADMIN, PASSWORD)
    }

    /// Files that it has open, by their names; those without one are called as they were once.
    #[track_caller]
    pub fn open_files(&self) -> Vec<PathBuf> {
        let directory = format!("/proc/{}/fd", self.child.id());
        let entries =
            std::fs::read_dir(directory).expect("a running process has a directory there");
        let links = entries.map(|entry| entry.expect("the directory can be listed").path());
        // Files that have been closed meanwhile have none.
        links
            .filter_map(|link| std::fs::read_link(link).ok())
            .collect()
    }

    /// The most bytes that it had in memory so far.
    #[track_caller]
    pub fn peak_memory(&self) -> u64 {
        let status = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(status).expect("a running process has a status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes: Option<u64> =
            line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        1024 * kilobytes.unwrap_or_else(|| panic!("no peak in {status}"))
    }

    /// How many threads it has.
    #[track_caller]
    pub fn threads(&self) -> usize {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        tasks.expect("a running process has threads").count()
    }

    /// The text printed so far.
    pub fn printed(&self) -> String {
        self.printed.lock().clone()
    }

    /// The text printed so far, as soon as `text` is in it.
    #[track_caller]
    pub fn printed_with(&self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            let printed = self.printed();
            if printed.contains(text) {
                return printed;
            }
            let waiting = begun.elapsed() < START_LIMIT;
            assert!(waiting, "{text:?} was not printed: {printed}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        let ended = self.child.try_wait();
        ended.expect("a child can be asked").is_none()
    }

    /// Ends it as `kill -9` does: nothing of it runs any more.
    pub fn kill(mut self) -> Ended {
        self.child.kill().expect("a child can be killed");
        self.wait()
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal, such as `HUP`.
    pub fn signal(&self, signal: &str) {
        let id = self.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.expect("there is a kill command").success());
    }

    /// Asks it to end with a signal (`TERM` or `INT`) and waits until it has.
    pub fn stop(mut self, signal: &str) -> Ended {
        self.signal(signal);
        self.wait()
    }

    fn wait(&mut self) -> Ended {
        let status = self.child.wait().expect("a child can be waited for");
        for reader in self.readers.drain(..) {
            reader.join().expect("readers do not panic");
        }
        let printed = self.printed();
        Ended { status, printed }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes a `varve.ini` with the administrator and further lines; returns its path.
pub fn configure(directory: &Path, more: &str) -> PathBuf {
    let path = directory.join("varve.ini");
    std::fs::create_dir_all(directory).expect("the directory can be made");
    let text = format!("[admins]\n{ADMIN} = {PASSWORD}\n{more}");
    std::fs::write(&path, text).expect("varve.ini can be written");
    path
}

fn follow(
    output: Option<impl Read + Send + 'static>,
    printed: &Arc<Mutex<String>>,
    ready: mpsc::Sender<String>,
) -> JoinHandle<()> {
    let output = output.expect("the output is a pipe");
    let printed = printed.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            let Ok(line) = line else { break };
            let mut printed = printed.lock();
            printed.push_str(&line);
            printed.push('\n');
            if let Some((_, rest)) = line.split_once(READY) {
                let rest = rest.trim_start_matches(['s', ':', '/']);
                let address = rest.split(['/', ' ']).next().unwrap_or(rest);
                // The pipe is not read once the address is known.
                let _ = ready.send(address.to_owned());
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that is in the repository, because one that a test has just written cannot
    /// always be run: another test's new process may still hold it open.
    fn placeholder(directory: &Path, script: &str) -> String {
        std::fs::write(directory.join("script"), script).unwrap();
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/placeholder").to_owned()
    }

    #[test]
    fn the_address_line_is_found_and_signals_arrive() {
        let directory = tempfile::tempdir().unwrap();
        let script = "trap 'echo bye; exit 3' TERM
            echo hello; echo listening on http://127.0.0.1:77/
            while :; do sleep 0.05; done";
        let mut server = Server::start(&placeholder(directory.path(), script), directory.path());
        assert_eq!(server.url("/db"), "http://127.0.0.1:77/db");
        assert!(server.is_running());
        let ended = server.stop("TERM");
        assert_eq!(ended.status.code(), Some(3));
        assert!(ended.printed.contains("hello") && ended.printed.contains("bye"));
    }

    #[test]
    fn a_refused_start_gives_what_was_printed() {
        let directory = tempfile::tempdir().unwrap();
        let program = placeholder(directory.path(), "echo varve.ini:3: bad >&2; exit 2");
        let ended = Server::try_start(&program, directory.path()).unwrap_err();
        assert_eq!(ended.status.code(), Some(2));
        assert_eq!(ended.printed, "varve.ini:3: bad\n");
    }
}

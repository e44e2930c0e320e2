//! The process of a server on this machine: its processor time and memory, where the system has `/proc`.

use std::fs;
use std::path::{Path, PathBuf};
use url::{Host, Url};

/// Clock ticks in a second, which is 100 on every Linux (`getconf CLK_TCK`).
const TICKS: f64 = 100.0;

/// A process by its directory in `/proc`.
#[derive(Debug)]
pub(crate) struct ServerProcess(PathBuf);

impl ServerProcess {
    /// The process with this number.
    pub fn with_id(id: u32) -> ServerProcess {
        ServerProcess(Path::new("/proc").join(id.to_string()))
    }

    /// The process that listens on a port; `None` if there is none, or it belongs to another user.
    pub fn find(port: Option<u16>) -> Option<ServerProcess> {
        let port = port?;
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
        let sockets: Vec<String> = tables
            .into_iter()
            .flatten()
            .flat_map(|table| listeners(&table, port))
            .map(|inode| format!("socket:[{inode}]"))
            .collect();
        let processes = fs::read_dir("/proc").ok()?.flatten();
        let found = processes
            .map(|entry| entry.path())
            .find(|process| holds(process, &sockets));
        found.map(ServerProcess)
    }

    /// Processor time in seconds since the process began.
    pub fn processor_seconds(&self) -> Option<f64> {
        ticks(&fs::read_to_string(self.0.join("stat")).ok()?).map(|ticks| ticks as f64 / TICKS)
    }

    /// Greatest resident memory so far in bytes.
    pub fn peak_memory(&self) -> Option<u64> {
        let text = fs::read_to_string(self.0.join("status")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib * 1024)
    }
}

/// The port of a URL whose host is this machine.
pub(crate) fn local_port(url: &Url) -> Option<u16> {
    let is_local = match url.host()? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    url.port_or_known_default().filter(|_| is_local)
}

/// Inodes of the sockets that listen on a port, in the form of `/proc/net/tcp`.
fn listeners(table: &str, port: u16) -> Vec<String> {
    const LISTEN: &str = "0A";
    let wanted = format!(":{port:04X}");
    let rows = table
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row.len() > 9 && row[1].ends_with(&wanted) && row[3] == LISTEN)
        .map(|row| row[9].to_owned())
        .collect()
}

fn holds(process: &Path, sockets: &[String]) -> bool {
    let Ok(files) = fs::read_dir(process.join("fd")) else {
        return false;
    };
    let targets = files
        .flatten()
        .filter_map(|file| fs::read_link(file.path()).ok());
    let mut names = targets.map(|target| target.to_string_lossy().into_owned());
    names.any(|name| sockets.contains(&name))
}

/// Ticks of user and system time. The name in parentheses may hold anything.
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(number(11)? + number(12)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_has_a_local_port() {
        let port = |url: &str| local_port(&Url::parse(url).unwrap());
        assert_eq!(port("http://localhost:5984/db"), Some(5984));
        assert_eq!(port("http://127.0.0.2/db"), Some(80));
        assert_eq!(port("http://[::1]:81"), Some(81));
        assert_eq!(port("http://example.org:5984/db"), None);
    }

    #[test]
    fn rows_of_proc_are_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
             0: 0100007F:1760 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1\n   \
             1: 0100007F:1760 0100007F:D2F0 01 00000000:00000000 00:00000000 00000000     0        0 4712 1\n";
        assert_eq!(listeners(table, 5984), ["4711"]);
        assert!(listeners(table, 80).is_empty());
        let stat = "12 (a) b) S 1 2 3 4 5 6 7 8 9 10 70 30 0 0 20";
        assert_eq!(ticks(stat), Some(100));
    }
}

//! `_system`: what the operating system says of this process, under the names that CouchDB uses where they fit.

use crate::CouchContext;
use std::fs;
use varve_json::{Object, Value};

/// Figures of this process; those that the system does not give are left out.
pub(super) fn describe(app: &CouchContext) -> Value {
    let server = app.server();
    let mut system = Object::new();
    system.insert("uptime", server.started.elapsed().as_secs());
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(resident) = figure(&status, "VmRSS:") {
        let mut memory = Object::new();
        memory.insert("other", resident * 1024);
        system.insert("memory", memory);
    }
    let switches = ["voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"];
    let switches = switches.map(|name| figure(&status, name));
    if let [Some(voluntary), Some(other)] = switches {
        system.insert("context_switches", voluntary + other);
    }
    let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
    for (name, of_system) in [("io_input", "rchar:"), ("io_output", "wchar:")] {
        if let Some(bytes) = figure(&io, of_system) {
            system.insert(name, bytes);
        }
    }
    if let Some(threads) = figure(&status, "Threads:") {
        system.insert("process_count", threads);
    }
    system.insert("run_queue", server.executor.queued() as u64);
    // Functions run in this process, and there is no other node.
    for none in [
        "os_proc_count",
        "stale_proc_count",
        "internal_replication_jobs",
    ] {
        system.insert(none, 0u64);
    }
    system.into()
}

/// The number in the line that begins with `name`.
fn figure(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_the_whole_name() {
        let status = "Name:\tvarve\nVmRSS:\t   5120 kB\nnonvoluntary_ctxt_switches:\t7\nvoluntary_ctxt_switches:\t3\n";
        assert_eq!(figure(status, "VmRSS:"), Some(5120));
        assert_eq!(figure(status, "voluntary_ctxt_switches:"), Some(3));
        assert_eq!(figure(status, "Threads:"), None);
        assert_eq!(figure(status, "Name:"), None);
    }
}

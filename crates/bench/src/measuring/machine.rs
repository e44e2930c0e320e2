//! The machine that was measured on, and its load. On systems without `/proc` most of it stays unknown.

use std::fmt;

/// A description of the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Name of the processor; empty if unknown.
    pub processor: String,
    /// Processors that this process may use.
    pub cores: usize,
    /// Bytes of memory; 0 if unknown.
    pub memory: u64,
    /// Operating system with its version.
    pub system: String,
    /// Mean number of running processes over the minute before the measurement; negative if unknown.
    pub load_before: f64,
}

impl Machine {
    /// The machine as it is now.
    pub fn now() -> Machine {
        let release = read("/proc/sys/kernel/osrelease");
        Machine {
            processor: field(&read("/proc/cpuinfo"), "model name"),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory: kibibytes(&field(&read("/proc/meminfo"), "MemTotal")),
            system: format!("{} {}", std::env::consts::OS, release.trim())
                .trim_end()
                .to_owned(),
            load_before: load(),
        }
    }

    /// Other programs kept more than a third of the processors busy in the minute before.
    pub fn was_busy(&self) -> bool {
        self.load_before > self.cores as f64 / 3.0
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.processor.as_str() {
            "" => std::env::consts::ARCH,
            name => name,
        };
        write!(f, "{name}, {} cores", self.cores)?;
        if self.memory > 0 {
            write!(f, ", {:.1} GiB", self.memory as f64 / f64::from(1 << 30))?;
        }
        write!(f, ", {}", self.system)?;
        if self.load_before >= 0.0 {
            write!(f, ", load {:.2} before the runs", self.load_before)?;
        }
        Ok(())
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Value of the first line `name: value`.
fn field(text: &str, name: &str) -> String {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(key, _)| key.trim() == name);
    found.map_or(String::new(), |(_, value)| value.trim().to_owned())
}

fn kibibytes(text: &str) -> u64 {
    let number = text.strip_suffix("kB").unwrap_or(text).trim();
    number.parse().map_or(0, |kib: u64| kib * 1024)
}

fn load() -> f64 {
    let text = read("/proc/loadavg");
    let first = text.split(' ').next().unwrap_or_default();
    first.parse().unwrap_or(-1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_and_a_busy_machine_is_told() {
        let text = "processor\t: 0\nmodel name\t: A chip: fast\nmodel name\t: Other\n";
        assert_eq!(field(text, "model name"), "A chip: fast");
        assert_eq!(field(text, "flags"), "");
        assert_eq!(kibibytes("8 kB"), 8192);
        assert_eq!(kibibytes("many"), 0);
        let mut machine = Machine {
            processor: "A chip".to_owned(),
            cores: 2,
            memory: 3 << 29,
            system: "linux 6".to_owned(),
            load_before: 0.5,
        };
        assert!(!machine.was_busy());
        let words = "A chip, 2 cores, 1.5 GiB, linux 6, load 0.50 before the runs";
        assert_eq!(machine.to_string(), words);
        machine.load_before = 0.7;
        assert!(machine.was_busy());
        assert!(Machine::now().cores > 0);
    }
}

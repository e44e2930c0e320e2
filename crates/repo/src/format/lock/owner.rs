//! The holder of a lock, as its symbolic link names it.
//!
//! ```text
//! host/namespace:process      host: this machine's name
//!                             namespace: inode of the process namespace, in hexadecimal
//!                             process: number within it
//! ```

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use varve_base::{Storage, StorageError};

const HOST_NAME: &str = "/proc/sys/kernel/hostname";
const NAMESPACE: &str = "/proc/self/ns/pid";

/// The text of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockOwner(String);

impl LockOwner {
    /// Host name and process id of this process, as they are written into a lock.
    pub(crate) fn this_process() -> LockOwner {
        LockOwner(format!("{}:{}", this_host(), std::process::id()))
    }

    /// The holder of the lock at `path`, if it is held.
    pub(crate) fn of(
        storage: &dyn Storage,
        path: &Path,
    ) -> Result<Option<LockOwner>, StorageError> {
        Ok(storage.read_symlink(path)?.map(LockOwner))
    }

    pub(crate) fn of_text(text: String) -> LockOwner {
        LockOwner(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Host with namespace, and process; `None` if the text is of another form.
    fn parts(&self) -> Option<(&str, &str)> {
        self.0.rsplit_once(':')
    }

    /// Whether it was a process of this machine and namespace that has ended.
    pub(crate) fn is_gone(&self) -> bool {
        let Some((host, process)) = self.parts() else {
            return false;
        };
        let is_number = !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit());
        // Without /proc no process is known to have ended.
        is_number
            && host == this_host()
            && Path::new(NAMESPACE).exists()
            && !Path::new("/proc").join(process).exists()
    }
}

/// As in the sentence "held by …".
impl fmt::Display for LockOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            Some((host, process)) => write!(f, "process '{process}' on host '{host}'"),
            None => write!(f, "'{}'", self.0),
        }
    }
}

fn this_host() -> String {
    let name = fs::read_to_string(HOST_NAME).unwrap_or_default();
    let name = match name.trim() {
        "" => "localhost",
        name => name,
    };
    match fs::metadata(NAMESPACE) {
        Ok(found) => format!("{name}/{:x}", found.ino()),
        Err(_) => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_ended_process_of_this_machine_is_gone() {
        let here = this_host();
        assert!(!LockOwner::this_process().is_gone());
        let of = |text: String| LockOwner::of_text(text);
        assert!(of(format!("{here}:999999999")).is_gone());
        for other in ["elsewhere/1:999999999", "varve:1", "nonsense", "", ":"] {
            assert!(!of(other.to_owned()).is_gone(), "{other}");
        }
        assert!(!of(format!("{here}:self")).is_gone());
        let shown = of("a/f:12".to_owned()).to_string();
        assert_eq!(shown, "process '12' on host 'a/f'");
        assert_eq!(of("odd".to_owned()).to_string(), "'odd'");
    }
}

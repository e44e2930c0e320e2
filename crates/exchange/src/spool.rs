//! Bytes whose number must be known before the first of them is sent.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that stay in memory; a longer spool goes to a file.
const IN_MEMORY: usize = 4 << 20;

/// Takes bytes, and gives them back from the beginning.
#[derive(Debug, Default)]
pub struct Spool {
    memory: Vec<u8>,
    file: Option<File>,
    len: u64,
    read: usize,
}

impl Spool {
    /// Number of all bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Lets the next read begin with the first byte.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn rewind(&mut self) -> io::Result<()> {
        self.read = 0;
        if let Some(file) = &mut self.file {
            file.flush()?;
            file.seek(SeekFrom::Start(0))?;
        }
        Ok(())
    }
}

/// A file without a name, which the system removes when it is closed.
fn nameless() -> io::Result<File> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("varve-push-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.file.is_none() && self.memory.len() + bytes.len() > IN_MEMORY {
            let mut file = nameless()?;
            file.write_all(&self.memory)?;
            self.memory = Vec::new();
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.write_all(bytes)?,
            None => self.memory.extend_from_slice(bytes),
        }
        self.len += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Spool {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if let Some(file) = &mut self.file {
            return file.read(bytes);
        }
        let rest = &self.memory[self.read..];
        let len = rest.len().min(bytes.len());
        bytes[..len].copy_from_slice(&rest[..len]);
        self.read += len;
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out() {
        for len in [0, 10, IN_MEMORY, IN_MEMORY + 1, 2 * IN_MEMORY + 7] {
            let text: Vec<u8> = (0..len as u32).map(|n| (n % 251) as u8).collect();
            let mut spool = Spool::default();
            for piece in text.chunks(99_991) {
                spool.write_all(piece).unwrap();
            }
            assert_eq!((spool.len(), spool.is_empty()), (len as u64, len == 0));
            assert_eq!(spool.file.is_some(), len > IN_MEMORY);
            for _ in 0..2 {
                spool.rewind().unwrap();
                let mut back = Vec::new();
                spool.read_to_end(&mut back).unwrap();
                assert!(back == text);
            }
        }
    }
}

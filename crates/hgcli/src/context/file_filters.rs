//! Filters of `[encode]` and `[decode]`: programs between the files on the disk and what is stored.

use crate::context::Config;
use crate::ui::Abort;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use varve_config::hgrc::Hgrc;
use varve_lang::patterns::{MatchRequest, Matcher, NameCheck, RegexEngine};
use varve_repo::hooks::FileFilters;
use varve_workdir::ScratchDirectory;

/// Beginnings of commands that stand for functions of extensions of Mercurial.
const OF_EXTENSIONS: &[&str] = &[
    "cleverdecode:",
    "cleverencode:",
    "dumbdecode:",
    "dumbencode:",
    "is-binary:",
    "macdumbdecode:",
    "macdumbencode:",
    "to-crlf:",
    "to-lf:",
];

/// The filters of a configuration; for each file the first that matches counts.
#[derive(Debug)]
pub(crate) struct ConfiguredFilters {
    encode: Vec<Filter>,
    decode: Vec<Filter>,
}

#[derive(Debug)]
struct Filter {
    files: Matcher,
    command: Vec<u8>,
}

impl ConfiguredFilters {
    /// The filters for the repository in the directory `root`; nothing if there are none.
    ///
    /// # Errors
    /// A wrong pattern, or a filter of an extension.
    pub(crate) fn read(config: &Hgrc, root: &Path) -> Result<Option<Arc<dyn FileFilters>>, Abort> {
        let filters = ConfiguredFilters {
            encode: filters(config, root, "encode")?,
            decode: filters(config, root, "decode")?,
        };
        match filters.encode.is_empty() && filters.decode.is_empty() {
            true => Ok(None),
            false => Ok(Some(Arc::new(filters))),
        }
    }
}

impl Config {
    /// The filters for a clone in the directory `root`: those of the repository around the call do not count.
    ///
    /// # Errors
    /// As of [`ConfiguredFilters::read`].
    pub(crate) fn clone_filters(&self, root: &Path) -> Result<Option<Arc<dyn FileFilters>>, Abort> {
        ConfiguredFilters::read(&self.layers.with(None)?.config, root)
    }
}

fn filters(config: &Hgrc, root: &Path, section: &str) -> Result<Vec<Filter>, Abort> {
    let mut filters = Vec::new();
    for item in config.section(section).iter() {
        // Turned off.
        if item.value == b"!" {
            continue;
        }
        let is_of = |name: &&&str| item.value.starts_with(name.as_bytes());
        if let Some(name) = OF_EXTENSIONS.iter().find(is_of) {
            let words = format!("filter {name} of the section {section} is not supported");
            return Err(Abort::new(words));
        }
        let request = MatchRequest {
            engine: RegexEngine::Backtracking,
            ..MatchRequest::of_setting(root, std::slice::from_ref(&item.key))
        };
        filters.push(Filter {
            files: Matcher::new(&request, &NameCheck)?,
            command: item.value.clone(),
        });
    }
    Ok(filters)
}

fn apply(filters: &[Filter], path: &[u8], content: Vec<u8>) -> Result<Vec<u8>, String> {
    match filters.iter().find(|filter| filter.files.matches(path)) {
        Some(filter) => filter.run(content),
        None => Ok(content),
    }
}

impl FileFilters for ConfiguredFilters {
    fn encode(&self, path: &[u8], content: Vec<u8>) -> Result<Vec<u8>, String> {
        apply(&self.encode, path, content)
    }

    fn decode(&self, path: &[u8], content: Vec<u8>) -> Result<Vec<u8>, String> {
        apply(&self.decode, path, content)
    }
}

impl Filter {
    fn run(&self, content: Vec<u8>) -> Result<Vec<u8>, String> {
        if let Some(line) = self.command.strip_prefix(b"tempfile:") {
            return through_files(line.trim_ascii_start(), &content);
        }
        let line = self.command.strip_prefix(b"pipe:");
        let line = line.map_or(&self.command[..], <[u8]>::trim_ascii_start);
        through_pipe(line, content).map_err(|error| format!("{}: {error}", shown(line)))
    }
}

fn shown(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

fn shell(line: &[u8]) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(OsStr::from_bytes(line));
    command
}

/// The output of a program that reads `content`. As in Mercurial, its exit code does not count.
fn through_pipe(line: &[u8], content: Vec<u8>) -> std::io::Result<Vec<u8>> {
    let mut command = shell(line);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let input = child.stdin.take();
    let writer = std::thread::spawn(move || {
        // A program need not read everything.
        let _ = input.map(|mut input| input.write_all(&content));
    });
    let output = child.wait_with_output()?.stdout;
    // It has no result.
    let _ = writer.join();
    Ok(output)
}

/// The file that a program makes of another.
fn through_files(line: &[u8], content: &[u8]) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", shown(line));
    let directory = ScratchDirectory::new("hg-filter").map_err(|error| error.to_string())?;
    let [input, output] = ["in", "out"].map(|name| directory.path().join(name));
    std::fs::write(&input, content).map_err(failed)?;
    std::fs::write(&output, b"").map_err(failed)?;
    let name = |path: &Path| path.as_os_str().as_bytes().to_vec();
    let line = replaced(line, b"INFILE", &name(&input));
    let line = replaced(&line, b"OUTFILE", &name(&output));
    let ended = shell(&line).status().map_err(failed)?;
    if !ended.success() {
        let how = described(ended);
        return Err(format!("command '{}' failed: {how}", shown(&line)));
    }
    std::fs::read(&output).map_err(failed)
}

/// How a program ended that did not succeed.
fn described(ended: ExitStatus) -> String {
    match (ended.code(), ended.signal()) {
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "killed".to_owned(),
    }
}

fn replaced(line: &[u8], word: &[u8], by: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), line);
    while let Some(at) = rest.windows(word.len()).position(|part| part == word) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(by);
        rest = &rest[at + word.len()..];
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_config::hgrc::SettingSource;

    fn read(settings: &[(&str, &str, &str)]) -> Result<Option<Arc<dyn FileFilters>>, Abort> {
        let mut config = Hgrc::default();
        for (section, key, value) in settings {
            let source = SettingSource::Named("test".to_owned());
            config.set(section.as_bytes(), key.as_bytes(), value.as_bytes(), source);
        }
        ConfiguredFilters::read(&config, Path::new("/"))
    }

    #[test]
    fn the_first_filter_that_matches_is_run() {
        let filters = read(&[
            ("encode", "off", "!"),
            ("encode", "**.txt", "tr a-z A-Z"),
            ("encode", "**", "pipe: cat; echo +"),
            ("decode", "a", "tempfile: tr A-Z a-z < INFILE > OUTFILE"),
            ("decode", "bad", "tempfile:false INFILE"),
            ("decode", "gone", "exit 3"),
        ]);
        let filters = filters.unwrap().unwrap();
        let encoded = |path: &str| filters.encode(path.as_bytes(), b"ab".to_vec()).unwrap();
        assert_eq!(encoded("d/x.txt"), b"AB");
        assert_eq!(encoded("off"), b"ab+\n");
        let decoded = |path: &str| filters.decode(path.as_bytes(), b"AB".to_vec());
        assert_eq!(decoded("a").unwrap(), b"ab");
        assert_eq!(decoded("other").unwrap(), b"AB");
        assert_eq!(decoded("gone").unwrap(), b"");
        let failed = decoded("bad").unwrap_err();
        assert!(failed.starts_with("command 'false /"), "{failed}");
        assert!(
            failed.ends_with("' failed: exited with status 1"),
            "{failed}"
        );
    }

    #[test]
    fn more_than_a_pipe_holds_goes_through() {
        let filters = read(&[("encode", "**", "cat")]).unwrap().unwrap();
        let content = vec![b'x'; 1 << 20];
        assert_eq!(filters.encode(b"a", content.clone()).unwrap(), content);
    }

    #[test]
    fn filters_of_extensions_are_refused() {
        assert!(read(&[]).unwrap().is_none());
        assert!(read(&[("decode", "**", "!")]).unwrap().is_none());
        let refused = read(&[("decode", "**.txt", "cleverdecode:")]).unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("cleverdecode: of the section decode"),
            "{refused}"
        );
    }
}

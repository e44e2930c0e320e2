//! `import`: the same patches in both programs, and what they leave.

mod cases;
mod faults;
mod mails;
mod random;
mod series;

use super::Twin;
use std::collections::BTreeMap;
use std::path::Path;
use varve_testkit::peers;
use varve_testkit::repos;

/// Shows changesets with all that an import decides.
const LOG: &[&str] = &[
    "log",
    "-r",
    "all()",
    "-T",
    "{rev} {node} <{desc}> {user} {date|hgdate} {branch} {phase} {p1node} {p2node} {file_copies} {bookmarks}\\n",
];

/// A file `f` with 20 lines, `g` with three, one with CR LF, a binary one, a link, an executable one and one without
/// a last newline.
fn make(hg: &peers::Hg, path: &Path) {
    std::fs::create_dir_all(path).unwrap();
    hg.ok(path, &["init"]);
    let lines: String = (1..=20).map(|line| format!("line {line}\n")).collect();
    repos::write(path, "f", lines.as_bytes());
    repos::write(path, "g", b"x\ny\nz\n");
    repos::write(path, "d/s", b"sub\n");
    repos::write(path, "crlf", b"a\r\nb\r\nc\r\n");
    repos::write(path, "nonl", b"no newline");
    repos::write(path, "bin", b"\0\x01bin");
    repos::write(path, "exe", b"exe\n");
    std::os::unix::fs::symlink("g", path.join("link")).unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path.join("exe"), executable).unwrap();
    repos::commit(hg, path, "one");
}

/// A twin of [`make`].
fn twin() -> Twin {
    Twin::writing(make)
}

/// Contents and modes of all files outside of `.hg`.
pub(super) fn files(root: &Path) -> BTreeMap<String, (Vec<u8>, bool)> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_dir() {
                if path.file_name().unwrap() != ".hg" {
                    waiting.push(path);
                }
                continue;
            }
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            let is_executable =
                std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o100 != 0;
            let content = match metadata.is_symlink() {
                true => std::fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes(),
                false => std::fs::read(&path).unwrap(),
            };
            found.insert(name, (content, is_executable && !metadata.is_symlink()));
        }
    }
    found
}

impl Twin {
    /// Writes a patch beside both copies, as `../p`.
    fn patch(&self, text: &[u8]) {
        self.each(|root| std::fs::write(root.parent().unwrap().join("p"), text).unwrap());
    }

    /// Changesets, states of files, files and the kept description are the same.
    #[track_caller]
    fn same_results(&self) {
        self.same(LOG);
        self.same(&["parents", "-T", "{rev}\\n"]);
        self.same(&["status", "-C"]);
        self.same(&["branch"]);
        assert_eq!(files(self.theirs()), files(self.ours()));
        let last = |root: &Path| std::fs::read(root.join(".hg/last-message.txt")).ok();
        assert_eq!(last(self.theirs()), last(self.ours()));
    }
}

/// Imports a patch into a fresh twin with these words behind `import`, and compares what comes of it.
#[track_caller]
fn same_import(text: &[u8], words: &str) {
    let twin = twin();
    twin.patch(text);
    let words = words.split(' ').filter(|word| !word.is_empty());
    let arguments: Vec<&str> = ["import", "../p"].into_iter().chain(words).collect();
    twin.same(&arguments);
    twin.same_results();
}

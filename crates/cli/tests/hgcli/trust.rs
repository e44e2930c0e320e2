//! Configuration of untrusted users does not count.

use super::Twin;
use std::os::unix::fs::{chown, symlink};
use std::path::Path;

/// Settings that would show if they counted.
const TEXT: &str = "[hooks]\npre-status = echo called\ncommit = echo called\n\
                    [alias]\nqqqq = status\n[ui]\nusername = Mallory\n[paths]\ndefault = /x\n";

/// The user without rights, on many systems.
const STRANGER: u32 = 65534;

/// Gives the configuration of both copies to an untrusted user; only the administrator can.
fn twin() -> Option<Twin> {
    let twin = Twin::writing(|hg, root| {
        hg.run(root.parent().unwrap(), &["init", root.to_str().unwrap()]);
        std::fs::write(root.join("a"), "one\n").unwrap();
        hg.run(root, &["commit", "-q", "-A", "-m", "first", "-d", "0 0"]);
    });
    let give = |root: &Path| {
        let path = root.join(".hg/hgrc");
        std::fs::write(&path, TEXT).unwrap();
        chown(path, Some(STRANGER), Some(STRANGER)).is_ok()
    };
    (give(twin.theirs()) && give(twin.ours())).then_some(twin)
}

#[test]
fn what_strangers_configure_does_not_count() {
    let Some(twin) = twin() else {
        return;
    };
    let twin = twin.with("HGPLAINEXCEPT", "alias");
    twin.all_same(&[
        "status",
        "root",
        "root -q",
        "qqqq",
        "paths",
        "config ui.username",
        "config --untrusted ui.username",
        "config -u hooks",
        "commit --config ui.allowemptycommit=1 -m x -d 2020-01-01",
        "version -q",
        "status --config ui.report_untrusted=0",
        "status --config hooks.pre-status=true",
        "status --config trusted.users=nobody",
        "status --config trusted.groups=nogroup",
        "status --config trusted.users=*",
        "status --config trusted.groups=*",
        "status --config trusted.users=somebody",
    ]);
    twin.run_in("..", &["-R", "repository", "root"])
        .same(&["-R"]);
}

#[test]
fn a_broken_file_of_a_stranger_breaks_nothing() {
    let Some(twin) = twin() else {
        return;
    };
    twin.each(|root| {
        std::fs::write(root.join(".hg/hgrc"), "no section\n").unwrap();
    });
    twin.all_same(&["root", "status", "log -T {rev}"]);
}

#[test]
fn a_link_is_as_its_target() {
    let twin = Twin::writing(|hg, root| {
        hg.run(root.parent().unwrap(), &["init", root.to_str().unwrap()]);
    });
    twin.each(|root| {
        std::fs::write(root.join("mine"), TEXT).unwrap();
        symlink(root.join("mine"), root.join(".hg/hgrc")).unwrap();
    });
    twin.all_same(&["status", "config ui.username"]);
}

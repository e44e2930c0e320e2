//! `histedit`, killed at any moment: it is done, or Mercurial gives it up.

use super::{MARKERS, history};
use crate::hgcli::our_hg;
use crate::killing::{kill, start};
use std::thread;
use std::time::Duration;
use varve_testkit::peers::hg;
use varve_testkit::repos::write;

/// Moments at which the command is killed.
const MOMENTS: u64 = 10;

#[test]
fn either_all_is_edited_or_nothing_is_lost() {
    let mut killed = 0;
    for moment in 0..MOMENTS {
        for settings in [MARKERS, ""] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path();
            history(&hg(), path, settings);
            let template = "pick {node|short}\\n";
            let plan = hg().ok(path, &["log", "-r", "2+1+4+3+5", "-T", template]);
            write(path, "plan", plan.as_bytes());
            let line = ["histedit", "--commands", "plan", "1"];
            let worker = start(&our_hg(), path, &line);
            thread::sleep(Duration::from_millis(20 + moment * 20));
            killed += u32::from(kill(worker));
            for lock in [".hg/wlock", ".hg/store/lock"] {
                let _ = std::fs::remove_file(path.join(lock));
            }
            hg().run(path, &["recover"]);
            if path.join(".hg/histedit-state").exists() {
                hg().ok(path, &["histedit", "--abort"]);
            }
            assert_eq!(hg().run(path, &["verify", "-q"]).code, Some(0));
            // A changeset that was made before the state had it may stay as one more head.
            let heads = hg().ok(
                path,
                &["log", "-r", "heads(not obsolete())", "-T", "{rev}\n"],
            );
            let whole = heads.lines().find(|head| {
                let line = format!("::{head}");
                let found = hg().ok(path, &["log", "-r", &line, "-T", "{desc|firstline}\n"]);
                let mut descriptions: Vec<&str> = found.lines().collect();
                descriptions.sort_unstable();
                descriptions == ["five", "four", "one", "three", "two", "zero"]
            });
            let whole = whole.unwrap_or_else(|| panic!("lost at {moment}: {heads}"));
            hg().ok(path, &["update", "-q", "-C", whole]);
        }
    }
    assert!(killed > 0, "nothing was killed");
}

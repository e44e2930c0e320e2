//! `debuglocks`: who holds the locks of a repository.

use crate::arguments::{Flag, Matches};
use crate::context::{Command, Context};
use crate::ui::{Abort, Ui, user};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};
use varve_repo::{Lock, LockKind, RepoError, Repository};

/// Between two looks for a signal.
const PAUSE: Duration = Duration::from_millis(50);

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debuglocks"],
    options: &[
        Flag::flag(
            'L',
            "force-free-lock",
            "remove the lock of the store (dangerous)",
        ),
        Flag::flag(
            'W',
            "force-free-wlock",
            "remove the lock of the working directory (dangerous)",
        ),
        Flag::flag('s', "set-lock", "hold the lock of the store until stopped"),
        Flag::flag(
            'S',
            "set-wlock",
            "hold the lock of the working directory until stopped",
        ),
    ],
    arguments: 0..=0,
    synopsis: "[OPTION]...",
    summary: "show or change the locks",
    help: "Without options, prints who holds each lock, and for how long.\n\n\
           Locks keep two programs from writing at once. One that a crash left behind is found and removed by \
           itself, but on the machine where it was made only; to remove one by force while its holder still \
           runs damages the repository.\n\n\
           Ends with the number of locks that are held.",
    category: None,
    run,
};

/// In the order of the output, with their names there.
const LOCKS: [(LockKind, &str); 2] = [(LockKind::Store, "lock"), (LockKind::WorkingCopy, "wlock")];

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context { repo, ui, .. } = context;
    let repository = repo.repository()?;
    let removed = [
        (LockKind::Store, "force-free-lock"),
        (LockKind::WorkingCopy, "force-free-wlock"),
    ];
    let removed: Vec<_> = removed
        .iter()
        .filter(|(_, flag)| matches.flag(flag))
        .collect();
    if !removed.is_empty() {
        for (kind, _) in removed {
            match std::fs::remove_file(repository.lock_path(*kind)) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                done => done?,
            }
        }
        return Ok(0);
    }
    let mut held = Vec::new();
    if matches.flag("set-wlock") {
        held.push(take(&repository, LockKind::WorkingCopy, "wlock")?);
    }
    if matches.flag("set-lock") {
        held.push(take(&repository, LockKind::Store, "lock")?);
    }
    if !held.is_empty() {
        hold(ui, held)?;
        return Ok(0);
    }
    let mut held = 0;
    for (kind, name) in LOCKS {
        let label = format!("{name}:");
        let holder = holder(&repository, kind)?;
        held += u8::from(holder.is_some());
        let shown = holder.unwrap_or_else(|| "free".to_owned());
        ui.write(format!("{label:<6} {shown}\n"))?;
    }
    Ok(held)
}

fn take(repository: &Repository, kind: LockKind, name: &str) -> Result<Lock, Abort> {
    repository.try_lock(kind).map_err(|error| match error {
        RepoError::LockHeld { .. } => Abort::new(format!("{name} is already held")),
        other => other.into(),
    })
}

/// Keeps locks until the user, or a signal, ends that.
fn hold(ui: &mut Ui, held: Vec<Lock>) -> Result<(), Abort> {
    if ui.is_interactive()? {
        ui.print_question("ready to release the lock (y)? ")?;
        ui.read_answer(b"y")?;
        return Ok(());
    }
    ui.guard.writes();
    ui.unbuffered = true;
    ui.status(format!("{} locks held, waiting for signal\n", held.len()))?;
    while ui.stop.check().is_ok() {
        std::thread::sleep(PAUSE);
    }
    ui.status("signal-received releasing locks\n")
}

/// The holder of a lock; `None` if it is free, or if who held it is gone.
fn holder(repository: &Repository, kind: LockKind) -> Result<Option<String>, Abort> {
    match repository.try_lock(kind) {
        Ok(_) => return Ok(None),
        Err(RepoError::LockHeld { .. }) => {}
        Err(other) => return Err(other.into()),
    }
    let path = repository.lock_path(kind);
    // It may be released meanwhile.
    let Ok(found) = std::fs::symlink_metadata(&path) else {
        return Ok(None);
    };
    let text = lock_text(&path);
    let age = found
        .modified()
        .map(|since| SystemTime::now().duration_since(since));
    let age = age.ok().and_then(Result::ok).unwrap_or_default().as_secs();
    let Some((host, process)) = text.split_once(':') else {
        return Ok(Some(format!("{text} ({age}s)")));
    };
    let user = user::name_of(found.uid()).unwrap_or_else(|| found.uid().to_string());
    Ok(Some(format!(
        "user {user}, process {process}, host {host} ({age}s)"
    )))
}

/// The text of a lock, which is the target of a link or, where links cannot be made, stands in a file.
fn lock_text(path: &Path) -> String {
    let text = match std::fs::read_link(path) {
        Ok(target) => target.to_string_lossy().into_owned(),
        Err(_) => String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned(),
    };
    text.trim_end().to_owned()
}

//! Tests by a line of the shell.

use super::Bisection;
use crate::ui::Abort;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use varve_repo::{Node, RepoView, Rev};

/// Exit code of a line that cannot test a changeset.
const SKIP: i32 = 125;
/// Exit code of the shell for a program that is not there.
const NOT_FOUND: i32 = 127;

impl Bisection<'_> {
    /// Tests one changeset after another until the result is there. `named` are those that the call names, of
    /// which the last is the first to be tested.
    pub(super) fn test_by_command(
        &mut self,
        view: &RepoView,
        line: &[u8],
        named: Option<&[Option<Rev>]>,
    ) -> Result<(), Abort> {
        let mut node = self.begin()?;
        if let Some(named) = named {
            let last = named.last();
            let rev = last.ok_or_else(|| Abort::input("empty revision set"))?;
            node = view.changelog().node_or_null(*rev);
        }
        let first = node;
        let tested = self.test_all(view, line, node);
        // The changeset to be tested is the one from before, whatever came of it.
        self.state.current = vec![first];
        self.save()?;
        tested
    }

    /// The changeset to be tested first.
    fn begin(&mut self) -> Result<Node, Abort> {
        if !self.updates {
            let current = self.state.current.first().copied();
            return current.ok_or_else(|| {
                Abort::state("current bisect revision is unknown - start a new bisect to fix")
            });
        }
        let [first, second] = varve_workdir::Dirstate::read(self.repository)?.parents();
        match second.is_null() {
            true => Ok(first),
            false => Err(Abort::state("current bisect revision is a merge")),
        }
    }

    fn test_all(&mut self, view: &RepoView, line: &[u8], mut node: Node) -> Result<(), Abort> {
        loop {
            self.state.current = vec![node];
            self.save()?;
            let word = self.run_test(line, &node)?;
            let list = match word {
                "skip" => &mut self.state.skip,
                "good" => &mut self.state.good,
                _ => &mut self.state.bad,
            };
            list.push(node);
            let summary = match view.changelog().rev(&node) {
                Some(rev) => self.summary(view, rev)?,
                None => node.to_hex().to_vec(),
            };
            let line = [b"changeset ", &summary[..], b": ", word.as_bytes(), b"\n"];
            self.ui.status(line.concat())?;
            let step = self.next(view)?;
            let Some(rev) = step.revs.first().copied() else {
                return Ok(());
            };
            node = view.changelog().node(rev);
            self.go_to(view, rev, false)?;
            if step.remaining == 0 {
                return self.print_result(view, &step);
            }
        }
    }

    /// Runs the line, and returns the mark that its exit code means.
    fn run_test(&mut self, line: &[u8], node: &Node) -> Result<&'static str, Abort> {
        self.ui.out.flush()?;
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(OsStr::from_bytes(line));
        command.current_dir(&self.repo.cwd);
        command.env("HG_NODE", node.to_string());
        crate::ui::environment::name_this_program(&mut command);
        let status = self.ui.streams.run(&mut command)?;
        let shown = String::from_utf8_lossy(line);
        match (status.code(), status.signal()) {
            (Some(0), _) => Ok("good"),
            (Some(SKIP), _) => Ok("skip"),
            (Some(NOT_FOUND), _) => Err(Abort::new(format!("failed to execute {shown}"))),
            (Some(_), _) => Ok("bad"),
            (None, _) => Err(Abort::new(format!("{shown} killed"))),
        }
    }
}

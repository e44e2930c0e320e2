//! `bisect`: the first changeset with a fault, in as few tests as possible.

mod by_command;
mod options;
mod result;

use crate::arguments::{Flag, Matches};
use crate::commands::local::{commit, unfinished, update};
use crate::context::{Category, Command, Config, Context, Repo};
use crate::render::changesets::ChangesetNames;
use crate::ui::{Abort, Ui};
use options::{BisectAction, BisectOptions};
use varve_repo::{
    BisectSet, BisectSets, BisectState, BisectStep, LockKind, Node, RepoView, Repository, Rev,
};
use varve_workdir::{Dirstate, LocalChanges};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["bisect"],
    options: &[
        Flag::flag('r', "reset", "forget the bisection"),
        Flag::flag('g', "good", "mark as good"),
        Flag::flag('b', "bad", "mark as bad"),
        Flag::flag('s', "skip", "mark as one that cannot be tested"),
        Flag::flag('e', "extend", "go on with the common ancestor of a merge"),
        Flag::value('c', "command", "CMD", "test by running this line"),
        Flag::flag('U', "noupdate", "do not update to what is to be tested"),
    ],
    arguments: 0..=2,
    synopsis: "[-gbsr] [-U] [-c CMD] [REV]",
    summary: "subdivision search of changesets",
    help: "Finds the changeset that brought a fault. Mark one that has it with --bad and an older one without it with \
           --good; then the working directory goes to a changeset between them. Test it and mark it, until the \
           first bad one is found. Without REV the parent of the working directory is marked. If the good ones are \
           newer, the first good one is found.\n\n\
           With --command a line of the shell tests: it ends with 0 if the changeset is good, with 125 if it \
           cannot be tested, and else with any other code but 127. HG_NODE has the id of the changeset.\n\n\
           The queries bisect(good), bisect(bad), bisect(skip), bisect(goods), bisect(bads), bisect(range), \
           bisect(pruned), bisect(untested), bisect(ignored) and bisect(current) give the changesets of each state, \
           and the keyword {bisect} the state of a changeset.\n\n\
           Ends with 0.",
    category: Some(Category::Navigation),
    run,
};

/// A call of the command.
struct Bisection<'a> {
    repo: &'a mut Repo,
    ui: &'a mut Ui,
    config: &'a Config,
    matches: &'a Matches,
    repository: &'a Repository,
    state: BisectState,
    updates: bool,
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let options = BisectOptions::read(ui, matches)?;
    let repository = repo.repository()?;
    let lock = repo.lock(ui, LockKind::WorkingCopy)?;
    if options.action == BisectAction::Reset {
        BisectState::clear(&repository)?;
        return Ok(0);
    }
    let state = BisectState::read(&repository)?;
    let marked = marked(repo, ui, &options, &state)?;
    let mut bisection = Bisection {
        state,
        updates: !matches.flag("noupdate"),
        repository: &repository,
        repo,
        ui,
        config,
        matches,
    };
    let code = bisection.carry_out(&options, marked);
    drop(lock);
    code
}

/// The changesets that the call names, or the parent of the working copy. Once both kinds are known, named ones
/// outside of the range do not count.
fn marked(
    repo: &mut Repo,
    ui: &mut Ui,
    options: &BisectOptions,
    state: &BisectState,
) -> Result<Vec<Option<Rev>>, Abort> {
    let Some(rev) = &options.rev else {
        return Ok(vec![repo.working_parents()?.first().copied()]);
    };
    let mut revs = repo.revisions_and_null(ui, &[rev])?;
    if !state.good.is_empty() && !state.bad.is_empty() {
        let sets = BisectSets::of(&*repo.view()?)?;
        revs.retain(|rev| rev.is_some_and(|rev| sets.has(BisectSet::Range, rev)));
    }
    Ok(revs)
}

impl Bisection<'_> {
    fn carry_out(
        &mut self,
        options: &BisectOptions,
        marked: Vec<Option<Rev>>,
    ) -> Result<u8, Abort> {
        let view = self.repo.view()?;
        let nodes = marked.iter().map(|rev| view.changelog().node_or_null(*rev));
        let list = match options.action {
            BisectAction::Good => Some(&mut self.state.good),
            BisectAction::Bad => Some(&mut self.state.bad),
            BisectAction::Skip => Some(&mut self.state.skip),
            _ => None,
        };
        if let Some(list) = list {
            list.extend(nodes);
            self.save()?;
            if self.state.good.is_empty() || self.state.bad.is_empty() {
                return Ok(0);
            }
        }
        match &options.action {
            BisectAction::Command(line) => {
                let named = options.rev.as_ref().map(|_| &marked[..]);
                self.test_by_command(&view, line, named)?;
            }
            BisectAction::Extend => self.extend(&view)?,
            _ => self.go_on(&view)?,
        }
        Ok(0)
    }

    fn save(&self) -> Result<(), Abort> {
        Ok(self.state.write(self.repository)?)
    }

    /// Refuses to go on before there is a changeset of each kind.
    fn check(&self) -> Result<(), Abort> {
        let missing = match (self.state.good.is_empty(), self.state.bad.is_empty()) {
            (false, false) => return Ok(()),
            (true, _) => "good",
            (false, true) => "bad",
        };
        Err(Abort::state(format!(
            "cannot bisect (no known {missing} revisions)"
        )))
    }

    fn next(&self, view: &RepoView) -> Result<BisectStep, Abort> {
        self.check()?;
        Ok(self.state.next(view)?)
    }

    /// Goes to the next changeset, or shows the result.
    fn go_on(&mut self, view: &RepoView) -> Result<(), Abort> {
        let step = self.next(view)?;
        let Some(rev) = step.revs.first().copied().filter(|_| step.remaining > 0) else {
            return self.print_result(view, &step);
        };
        let summary = self.summary(view, rev)?;
        let tests = step.remaining.ilog2();
        let rest = format!(
            " ({} changesets remaining, ~{tests} tests)\n",
            step.remaining
        );
        let line = [b"Testing changeset ", &summary[..], rest.as_bytes()];
        self.ui.write(line.concat())?;
        self.test(view, rev)
    }

    /// Makes a changeset the one to be tested.
    fn test(&mut self, view: &RepoView, rev: Rev) -> Result<(), Abort> {
        self.state.current = vec![view.changelog().node(rev)];
        self.save()?;
        self.go_to(view, rev, true)
    }

    /// Goes on beyond a merge of which only one side was tested.
    fn extend(&mut self, view: &RepoView) -> Result<(), Abort> {
        let step = self.next(view)?;
        let beyond = match step.remaining {
            0 => self.common_ancestor(view, &step)?,
            _ => None,
        };
        let Some(rev) = beyond else {
            return Err(Abort::state("nothing to extend"));
        };
        let summary = self.summary(view, rev)?;
        let line = [b"Extending search to changeset ", &summary[..], b"\n"];
        self.ui.write(line.concat())?;
        self.test(view, rev)
    }

    /// Updates the working copy, unless that is not wanted.
    fn go_to(&mut self, view: &RepoView, rev: Rev, shows_counts: bool) -> Result<(), Abort> {
        if !self.updates {
            return Ok(());
        }
        unfinished::refuse(self.repository)?;
        commit::refuse_changes(self.ui, self.repository)?;
        let parents = [view.changelog().node(rev), Node::NULL];
        self.repo.before_update(self.ui, &parents)?;
        let mut dirstate = Dirstate::read(self.repository)?;
        let place = (self.repository, view);
        let local = LocalChanges::Discard;
        let (ui, config, matches) = (&mut *self.ui, self.config, self.matches);
        let stats = update::go_to(ui, config, matches, place, &mut dirstate, Some(rev), local)?;
        self.repo
            .after_update(self.ui, &parents, stats.unresolved)?;
        match shows_counts {
            true => update::print_stats(self.ui, &stats),
            false => Ok(()),
        }
    }

    /// Number, id, names and first line of a changeset.
    fn summary(&mut self, view: &RepoView, rev: Rev) -> Result<Vec<u8>, Abort> {
        let mut out = self.repo.rev_and_hex(rev)?.into_bytes();
        let names = ChangesetNames::read(view, self.ui.encoding)?;
        for name in [names.bookmarks(rev), names.tags(rev)].concat() {
            out.push(b' ');
            out.extend_from_slice(&name);
        }
        let first = view.with_changeset(rev, |changeset| {
            let line = changeset.description.split(|byte| *byte == b'\n').next();
            line.unwrap_or_default().to_vec()
        })?;
        out.extend([b" \"", &first[..], b"\""].concat());
        Ok(out)
    }
}

//! Measures commands of Varve against the same ones of stock Mercurial, and of git on a conversion, side by side.
//!
//! Every program works on copies of its own. What both print is compared before anything is timed, and the changesets
//! that both commit are compared at the end.

mod checkout;
mod conversion;
mod measured_command;
mod tables;

use crate::BenchError;
use crate::measuring::{Interleaved, Machine, Rounds, Samples, ScratchDirectory, Task};
use crate::processes::{Program, or_interrupted};
use crate::report::{ComparedProgram, ComparedWork, Comparisons, Report};
use checkout::Checkout;
use measured_command::{MeasuredCommand, commands};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::{Interrupt, Progress, Storage};
use varve_repo::{RepoView, Repository};

/// Programs and numbers of runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// File of this program.
    pub varve: PathBuf,
    /// File of stock Mercurial.
    pub hg: PathBuf,
    /// File of git, if it is measured too.
    pub git: Option<PathBuf>,
    /// File of Mercurial's `rhg`, if it is measured too.
    pub rhg: Option<PathBuf>,
    /// Only work with one of these words in its name; all if there are none.
    pub only: Vec<String>,
    /// Rounds that count; at least 3.
    pub runs: usize,
}

/// Measures commands on copies of the repository at `path`, inside of `scratch`. Nothing of the repository is changed.
///
/// # Errors
/// [`BenchError`]: damage, a program that cannot be run or fails, outputs or changesets that differ, too few runs.
pub fn run(
    storage: &Arc<dyn Storage>,
    (path, scratch): (&Path, &Path),
    options: &Options,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Report, BenchError> {
    if options.runs < 3 {
        return Err(BenchError::TooFewRuns { runs: options.runs });
    }
    let machine = Machine::now();
    let repository = Repository::open(Arc::clone(storage), path)?;
    let view = repository.view()?;
    let (file, revisions) = most_changed_file(&view, interrupt)?;
    let works = chosen(commands(&file), &options.only)?;
    let directory = ScratchDirectory::create(storage, scratch)?;
    let absolute = std::path::absolute(directory.path()).map_err(|error| BenchError::Program {
        program: options.varve.clone(),
        reason: error.to_string(),
    })?;
    let checkouts = make_checkouts(&view, path, &absolute, options, (progress, interrupt));
    let checkouts = or_interrupted(checkouts, interrupt)?;
    let versions = checkouts.iter().map(Checkout::version);
    let versions = or_interrupted(versions.collect::<Result<Vec<_>, _>>(), interrupt)?;
    let taken = or_interrupted(taken_works(&works, &checkouts), interrupt)?;
    or_interrupted(compare_outputs(&taken, &checkouts, interrupt), interrupt)?;
    let rounds = Rounds {
        runs: options.runs,
        progress,
        interrupt,
    };
    let (comparisons, done) = measure(&taken, &checkouts, &rounds)?;
    compare_changesets(&checkouts, interrupt)?;
    let mut report = Report::new(
        format!("varve bench hg {}", path.display()),
        machine,
        options.runs,
    );
    let subject = tables::Subject {
        changesets: view.changelog().revs().count(),
        file: String::from_utf8_lossy(&file).into_owned(),
        revisions,
        versions,
    };
    tables::fill(&mut report, &comparisons, &subject, &checkouts, options)?;
    report.judge(&done, &[tables::COMMANDS, tables::STORES]);
    Ok(report)
}

/// MeasuredCommand with one of the words in its name, each of which must choose some; all without any words.
fn chosen(all: Vec<MeasuredCommand>, only: &[String]) -> Result<Vec<MeasuredCommand>, BenchError> {
    let is_in = |work: &MeasuredCommand, word: &String| work.name.contains(word.as_str());
    for word in only {
        if !all.iter().any(|work| is_in(work, word)) {
            return Err(BenchError::NoCommand { word: word.clone() });
        }
    }
    let is_chosen =
        |work: &MeasuredCommand| only.is_empty() || only.iter().any(|word| is_in(work, word));
    Ok(all.into_iter().filter(is_chosen).collect())
}

/// The text file of the newest changeset with most revisions, and how many it has.
fn most_changed_file(
    view: &RepoView,
    interrupt: &Interrupt,
) -> Result<(Vec<u8>, usize), BenchError> {
    /// Files are taken in this order until one is text.
    const LOOKED_AT: usize = 100;
    let text = view.manifest_text(view.tip())?;
    let mut files = Vec::new();
    for entry in view.manifest_entries(&text) {
        interrupt.check()?;
        let entry = entry?;
        files.push((view.filelog(entry.path)?.len(), entry.path, entry.node));
    }
    files.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    for (revisions, path, node) in files.iter().take(LOOKED_AT) {
        let content = view.file_content(path, node)?;
        if !content.is_empty() && !content.contains(&0) {
            return Ok((path.to_vec(), *revisions));
        }
    }
    Err(BenchError::Nothing)
}

fn make_checkouts(
    view: &RepoView,
    path: &Path,
    scratch: &Path,
    options: &Options,
    (progress, interrupt): (&dyn Progress, &Interrupt),
) -> Result<Vec<Checkout>, BenchError> {
    let varve = checkout::named_hg(&options.varve, scratch)?;
    let source = std::path::absolute(path).map_err(|error| varve.cannot_run(&error))?;
    let hg = Program::new(ComparedProgram::HG.name, &options.hg);
    let mut checkouts = Vec::new();
    for (program, compared) in [(varve, ComparedProgram::VARVE), (hg, ComparedProgram::HG)] {
        interrupt.check()?;
        checkouts.push(Checkout::of_hg(program, compared, &source, scratch)?);
    }
    if let Some(git) = &options.git {
        let git = Program::new(ComparedProgram::GIT.name, git);
        checkouts.push(Checkout::of_git(git, view, scratch, (progress, interrupt))?);
    }
    if let (Some(rhg), [_, hg, ..]) = (&options.rhg, checkouts.as_slice()) {
        let rhg = Program::new(ComparedProgram::RHG.name, rhg);
        checkouts.push(Checkout::of_rhg(rhg, hg, scratch));
    }
    Ok(checkouts)
}

/// Varve and Mercurial's programs must print the same.
fn compare_outputs(
    works: &[TakenWork<'_>],
    checkouts: &[Checkout],
    interrupt: &Interrupt,
) -> Result<(), BenchError> {
    for (work, takes) in works.iter().filter(|(work, _)| work.is_reading()) {
        let takers = checkouts.iter().zip(takes).filter(|(_, takes)| **takes);
        let mut takers = takers
            .map(|(checkout, _)| checkout)
            .filter(|it| !it.is_git());
        let Some(varve) = takers.next() else {
            return Err(BenchError::Nothing);
        };
        let ours = varve.output(work)?;
        for other in takers {
            interrupt.check()?;
            if ours != other.output(work)? {
                return Err(BenchError::OtherOutput {
                    command: other.program.call(other.words(work)),
                });
            }
        }
    }
    Ok(())
}

/// A command, and for each program whether it takes that.
type TakenWork<'w> = (&'w MeasuredCommand, Vec<bool>);

fn taken_works<'w>(
    works: &'w [MeasuredCommand],
    checkouts: &[Checkout],
) -> Result<Vec<TakenWork<'w>>, BenchError> {
    let taken = |work| {
        let takes = checkouts.iter().map(|checkout| checkout.takes(work));
        Ok((work, takes.collect::<Result<_, BenchError>>()?))
    };
    works.iter().map(taken).collect()
}

fn measure(
    works: &[TakenWork<'_>],
    checkouts: &[Checkout],
    rounds: &Rounds<'_>,
) -> Result<(Comparisons, Interleaved), BenchError> {
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for (work, takes) in works {
        for (checkout, _) in checkouts.iter().zip(takes).filter(|(_, takes)| **takes) {
            tasks.push(Box::new(move || {
                let seconds = or_interrupted(checkout.run(work), rounds.interrupt)?;
                Ok(vec![seconds])
            }));
        }
    }
    let done = rounds.interleave("running commands", &mut tasks)?;
    drop(tasks);
    let mut numbers = 0..;
    let mut runs = |takes: bool| match takes {
        true => numbers
            .next()
            .map_or(Samples::default(), |number| done.of(number, 0)),
        false => Samples::default(),
    };
    let compared = works.iter().map(|(work, takes)| ComparedWork {
        name: work.name.to_owned(),
        runs: takes.iter().map(|takes| runs(*takes)).collect(),
    });
    let comparisons = Comparisons {
        works: compared.collect(),
        programs: checkouts.iter().map(|checkout| checkout.compared).collect(),
    };
    Ok((comparisons, done))
}

/// The same files, dates and messages must give the same changesets.
fn compare_changesets(checkouts: &[Checkout], interrupt: &Interrupt) -> Result<(), BenchError> {
    let [varve, hg, ..] = checkouts else {
        return Err(BenchError::Nothing);
    };
    // Rounds that were not finished may have committed in one of them only.
    if interrupt.is_raised() || varve.tip()? == hg.tip()? {
        return Ok(());
    }
    Err(BenchError::OtherChangeset {
        program: hg.program.name,
    })
}

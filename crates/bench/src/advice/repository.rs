//! Advice about a repository.

use super::goal::{Candidate, Goal, choose};
use super::{Advice, Choice, Options, affordable, elapsed, redelta, tables};
use crate::BenchError;
use crate::measuring::{Machine, Rounds, context_memory};
use crate::report::{ColumnUnit, Report};
use crate::repository::{self as measured, EngineRow, History, HistoryPart};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use varve_base::storage::{read_if_there, replace};
use varve_base::{Interrupt, Progress, Storage};
use varve_codec::{CodecId, EngineSetting};
use varve_repo::{LockKind, RecompressOptions, Repository, StorageSettings, WriteOptions};

/// Chunks of the first look, from which the affordable sample follows.
const FIRST_LOOK: usize = 300;
/// Manifests of the first look.
const FIRST_MANIFESTS: usize = 10;
/// Rounds that count: the least for which a paired test can tell anything of use.
const RUNS: usize = 4;

fn settings(current: EngineSetting) -> Vec<EngineSetting> {
    let zlib = [1, 6, 9].map(|level| (CodecId::Zlib, level));
    let zstd = [1, 3, 6, 9, 12, 15, 19].map(|level| (CodecId::Zstd, level));
    let all = zlib.into_iter().chain(zstd);
    let mut all: Vec<EngineSetting> = all
        .filter_map(|(codec, level)| EngineSetting::new(codec, level).ok())
        .collect();
    if !all.contains(&current) {
        all.push(current);
    }
    all
}

fn write_options(repository: &Repository) -> WriteOptions {
    StorageSettings::default().write_options(repository.requirements())
}

pub(super) fn advise(
    storage: &Arc<dyn Storage>,
    path: &Path,
    options: &Options,
    (progress, interrupt): (&dyn Progress, &Interrupt),
) -> Result<Advice, BenchError> {
    let machine = Machine::now();
    let repository = Repository::open(Arc::clone(storage), path)?;
    let history = History::open(storage, &repository)?;
    let write = write_options(&repository);
    let settings = settings(write.engine);
    let rounds = Rounds {
        runs: RUNS,
        progress,
        interrupt,
    };
    let start = Instant::now();
    let first = history.stride(Some(FIRST_LOOK.min(options.most)));
    let mut packed = measured::pack_all(&history, &settings, first, &rounds)?;
    let each = elapsed(start) / history.revisions().div_ceil(first) as f64;
    let affordable_chunks = affordable(options.budget.mul_f64(0.45), each).min(options.most);
    let stride = history.stride(Some(affordable_chunks)).min(first);
    if stride < first {
        packed = measured::pack_all(&history, &settings, stride, &rounds)?;
    }
    let (packed, breakdown) = packed;
    let mut how = measured::Options {
        settings,
        sample: None,
        manifests: FIRST_MANIFESTS,
        runs: RUNS,
    };
    let start = Instant::now();
    let mut times = measured::measure(&repository, &history, packed.clone(), &how, &rounds)?;
    let each = elapsed(start) / FIRST_MANIFESTS as f64;
    how.manifests = affordable(options.budget.mul_f64(0.3), each).min(history.manifest.len());
    if how.manifests > FIRST_MANIFESTS && !interrupt.is_raised() {
        times = measured::measure(&repository, &history, packed, &how, &rounds)?;
    }
    let (rows, done) = times;
    interrupt.check()?;
    let share = options.budget.mul_f64(0.15);
    let redelta = redelta::measure(&history, write, share, interrupt)?;
    let mut report = Report::new(format!("varve advise {}", path.display()), machine, RUNS);
    let weights = (options.goal, history.longest_text());
    let choices = choices(&rows, write.engine, weights, path);
    tables::fill_repository(&mut report, &breakdown, &rows, stride, redelta);
    tables::push_choices(&mut report, breakdown.store_bytes(), &choices, &WORDS);
    report.judge(&done, &[tables::CHOICES]);
    Ok(Advice { choices, report })
}

const WORDS: tables::ChoiceWords = tables::ChoiceWords {
    times: "reading and writing the manifests",
    read_unit: ColumnUnit::Seconds,
    memory: "Memory is that of zstd's context for the longest text, for each of the threads that compress.",
};

fn choices(
    rows: &[EngineRow],
    current: EngineSetting,
    (goal, longest): (Goal, usize),
    path: &Path,
) -> Vec<Choice> {
    let candidates: Vec<Candidate> = rows
        .iter()
        .map(|row| Candidate {
            size: row.packed.store() as f64,
            read: row.whole_read().clone(),
            write: row.write.clone(),
        })
        .collect();
    let reference = rows.iter().position(|row| row.packed.setting == current);
    let chosen = choose(&candidates, reference.unwrap_or(0), goal);
    let choice = |(goal, index): (Goal, usize)| {
        let row = &rows[index];
        let setting = row.packed.setting;
        Choice {
            goal,
            setting,
            size: row.packed.store(),
            configuration: configuration(setting),
            command: format!(
                "varve recompress --engine {} --level {} {}",
                setting.codec().name(),
                setting.level(),
                path.display()
            ),
            read: row.whole_read().clone(),
            write: row.write.clone(),
            memory: context_memory(setting, longest),
        }
    };
    chosen.into_iter().map(choice).collect()
}

/// The engine itself is a requirement of the repository, which the command sets.
fn configuration(setting: EngineSetting) -> Vec<String> {
    let key = match setting.codec() {
        CodecId::Zstd => "revlog.zstd.level",
        CodecId::Zlib => "revlog.zlib.level",
        CodecId::None | CodecId::Snappy => return Vec::new(),
    };
    vec![
        "[storage]".to_owned(),
        format!("{key} = {}", setting.level()),
    ]
}

pub(super) fn apply(
    storage: &Arc<dyn Storage>,
    path: &Path,
    choice: &Choice,
    (progress, interrupt): (&dyn Progress, &Interrupt),
) -> Result<u64, BenchError> {
    let repository = Repository::open(Arc::clone(storage), path)?;
    let how = RecompressOptions {
        write: WriteOptions {
            engine: choice.setting,
            ..write_options(&repository)
        },
        redelta: false,
    };
    let working_copy = repository.try_lock(LockKind::WorkingCopy)?;
    let store = repository.try_lock(LockKind::Store)?;
    let done = repository.recompress(&working_copy, &store, &how, progress, interrupt)?;
    configure(storage, &repository.root().join(".hg/hgrc"), choice)?;
    Ok(done.after)
}

/// Adds the lines to the repository's own configuration; of a key that stands there twice the last counts.
fn configure(storage: &Arc<dyn Storage>, hgrc: &Path, choice: &Choice) -> Result<(), BenchError> {
    let mut text = read_if_there(storage.as_ref(), hgrc)?.unwrap_or_default();
    let lines = choice.configuration.join("\n");
    let is_there = String::from_utf8_lossy(&text).trim_end().ends_with(&lines);
    if lines.is_empty() || is_there {
        return Ok(());
    }
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text.extend_from_slice(format!("{lines}\n").as_bytes());
    replace(storage.as_ref(), hgrc, &text)?;
    Ok(())
}

impl History {
    /// Bytes of the longest full text.
    fn longest_text(&self) -> usize {
        let lens = self
            .revlogs
            .iter()
            .filter(|(part, _)| *part != HistoryPart::Changelog);
        let lens = lens.flat_map(|(_, revlog)| revlog.revs().map(|rev| revlog.entry(rev).raw_len));
        lens.flatten().max().map_or(0, |len| len as usize)
    }
}

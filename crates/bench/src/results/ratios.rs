//! Ratios against peers, as plots.

use super::{KeptResult, ResultFile};
use crate::report::{Chart, RatioChart, RatioMark, RatioRow};

/// Word between the two programs of a comparison.
const AGAINST: &str = " against ";
const AXIS: &str = "Varve is so many times better (right of 1), or worse (left of 1)";

/// Rows of the summary: file, name of the result, and label.
const SUMMARY: [(&str, &str, &str); 14] = [
    ("commands", "status/large", "hg status"),
    ("commands", "log -l 10/large", "hg log -l 10"),
    ("commands", "diff -c tip/large", "hg diff -c tip"),
    ("commands", "commit/large", "hg commit"),
    (
        "rewriting",
        "rebase 200 over 5000",
        "hg rebase of 200 changesets",
    ),
    (
        "clones",
        "clone --pull/large",
        "hg clone --pull, CPU of the server",
    ),
    ("exchange", "16 clones at once/large", "16 clones at once"),
    ("databases", "load/4x1000", "load of 100,000 documents"),
    ("databases", "get", "GET of a document"),
    ("databases", "put", "PUT of a document"),
    ("databases", "compaction", "compaction"),
    ("views", "view/compiled/wall", "build of a view"),
    ("views", "view/limit=1", "query of a view"),
    ("views", "find", "_find"),
];

/// Rows of the plot against other servers.
const DATABASES: [(&str, &str, &str); 6] = [
    ("peers", "documents/get", "GET of a document"),
    ("peers", "documents/put", "PUT of a document"),
    ("peers", "documents/query", "query of 25 documents"),
    ("peers", "documents/load", "load"),
    ("peers", "documents/file", "file and index, bytes"),
    ("peers", "file/get of 1 KB", "GET of 1 KB"),
];

/// All results of one quantity of one subject, the newest last.
pub(super) struct Series<'r> {
    pub results: Vec<&'r KeptResult>,
    pub last: &'r KeptResult,
}

/// Quantities in the order in which they appear first.
pub(super) fn series(results: &[KeptResult]) -> Vec<Series<'_>> {
    let mut all: Vec<Series<'_>> = Vec::new();
    for result in results {
        let is_same = |series: &&mut Series<'_>| {
            let last = series.last;
            last.name == result.name && last.subject == result.subject && last.unit == result.unit
        };
        match all.iter_mut().find(is_same) {
            Some(series) => {
                series.results.push(result);
                series.last = result;
            }
            None => all.push(Series {
                results: vec![result],
                last: result,
            }),
        }
    }
    all
}

/// A chart that grows by one ratio after the other.
#[derive(Default)]
struct Rows {
    peers: Vec<String>,
    rows: Vec<RatioRow>,
}

impl Rows {
    /// Adds a ratio; the first one of a peer in a row counts.
    fn add(&mut self, label: String, peer: &str, (low, median, high): (f64, f64, f64)) {
        let known = self.peers.iter().position(|known| known == peer);
        let series = known.unwrap_or_else(|| {
            self.peers.push(peer.to_owned());
            self.peers.len() - 1
        });
        let mark = RatioMark {
            series,
            low,
            median,
            high,
        };
        match self.rows.iter_mut().find(|row| row.label == label) {
            Some(row) => {
                if row.marks.iter().all(|other| other.series != series) {
                    row.marks.push(mark);
                }
            }
            None => self.rows.push(RatioRow {
                label,
                marks: vec![mark],
            }),
        }
    }

    fn chart(self, title: String) -> Option<Chart> {
        if self.rows.is_empty() {
            return None;
        }
        Some(Chart::Ratios(RatioChart {
            title,
            label: AXIS.to_owned(),
            series: self.peers,
            rows: self.rows,
        }))
    }
}

/// The newest ratios of a file of which more is better; processor time and memory stand in the table only.
pub(super) fn of_file(name: &str, all: &[Series<'_>]) -> Option<Chart> {
    let mut rows = Rows::default();
    for one in all {
        let result = one.last;
        let mut details = ["/cpu", "/memory", "/p99"].iter();
        if details.any(|ending| result.name.ends_with(ending)) {
            continue;
        }
        let Some((ours, peer, ratio)) = against_peer(all, result) else {
            continue;
        };
        // Two numbers of threads are two rows.
        let threads = ours.strip_prefix("varve, ").unwrap_or("");
        let label = match threads.trim_end_matches([',', ' ']) {
            "" => result.name.clone(),
            more => format!("{}, {more}", result.name),
        };
        rows.add(label, peer, ratio);
    }
    rows.chart(format!("{name}: the newest results against peers"))
}

/// Work that many people do, by peer.
pub(super) fn of_summary(files: &[ResultFile]) -> Option<Chart> {
    let title = "Varve against its ancestors: how many times better";
    chosen(files, &SUMMARY, |_| true).chart(title.to_owned())
}

/// Documents against a relational database and a server of files.
pub(super) fn of_databases(files: &[ResultFile]) -> Option<Chart> {
    let is_server = |peer: &str| peer == "postgresql" || peer == "nginx";
    let title = "Varve against PostgreSQL and nginx: how many times better";
    chosen(files, &DATABASES, is_server).chart(title.to_owned())
}

/// Commands against git on conversions of the same histories, by corpus.
pub(super) fn of_git(files: &[ResultFile]) -> Option<Chart> {
    let choices = files.iter().find(|file| file.name == "choices")?;
    let mut rows = Rows::default();
    for one in series(&choices.results) {
        let Some((corpus, command)) = git_command(&one.last.name) else {
            continue;
        };
        if let (Some(median), Some((low, high))) = (one.last.median, one.last.range) {
            let peer = format!("git, {corpus} corpus");
            rows.add(command.to_owned(), &peer, (low, median, high));
        }
    }
    rows.chart("Varve against git: how many times faster".to_owned())
}

/// Corpus and command of a result such as `hg-large/commands/log -l 10/git_ratio`.
fn git_command(name: &str) -> Option<(&str, &str)> {
    let (corpus, rest) = name.strip_prefix("hg-")?.split_once("/commands/")?;
    Some((corpus, rest.strip_suffix("/git_ratio")?))
}

/// The newest ratios of the named results against the peers that are asked for.
fn chosen(
    files: &[ResultFile],
    named: &[(&str, &str, &str)],
    is_wanted: impl Fn(&str) -> bool,
) -> Rows {
    let mut rows = Rows::default();
    for &(file, name, label) in named {
        let Some(file) = files.iter().find(|found| found.name == file) else {
            continue;
        };
        let all = series(&file.results);
        for one in all.iter().filter(|one| one.last.name == name) {
            let ratio = against_peer(&all, one.last);
            if let Some((_, peer, ratio)) = ratio.filter(|(_, peer, _)| is_wanted(peer)) {
                rows.add(label.to_owned(), peer, ratio);
            }
        }
    }
    rows
}

/// Subject and peer of a ratio of which more is better, and the ratio with its bounds.
fn against_peer<'r>(
    all: &[Series<'_>],
    result: &'r KeptResult,
) -> Option<(&'r str, &'r str, (f64, f64, f64))> {
    let (ours, peer) = result.subject.split_once(AGAINST)?;
    let median = result.median.filter(|_| is_better_when_more(result))?;
    if !ours.starts_with("varve") {
        return None;
    }
    let (low, high) = range(all, result, median).unwrap_or((median, median));
    // Versions of a peer are one series.
    let peer = peer.split([' ', ',']).next().unwrap_or(peer);
    Some((ours, peer, (low, median, high)))
}

/// A target that is met from below is a bound on a cost.
fn is_better_when_more(result: &KeptResult) -> bool {
    if result.unit != "ratio" {
        return false;
    }
    match (result.median, result.target, result.met) {
        (Some(median), Some(target), Some(met)) => (median >= target) == met,
        _ => true,
    }
}

/// Bounds of a ratio by the ranges of both programs on the same day.
fn range(all: &[Series<'_>], ratio: &KeptResult, median: f64) -> Option<(f64, f64)> {
    let (ours, peer) = ratio.subject.split_once(AGAINST)?;
    let of = |subject: &str| {
        let subject = subject.trim_end_matches([',', ' ']);
        let found = all.iter().find(|one| {
            let last = one.last;
            last.name == ratio.name && last.subject == subject && last.date == ratio.date
        })?;
        Some((found.last.median?, found.last.range?))
    };
    let ((our_median, ours), (peer_median, peers)) = (of(ours)?, of(peer)?);
    let spread = |(above, below): ((f64, f64), (f64, f64))| {
        (above.0 / below.1.max(1e-12), above.1 / below.0.max(1e-12))
    };
    // Of times the peer's is divided by ours, of rates ours by the peer's.
    let of_times = (peer_median / our_median.max(1e-12) / median - 1.0).abs();
    let of_rates = (our_median / peer_median.max(1e-12) / median - 1.0).abs();
    match of_times.min(of_rates) < 0.05 {
        false => None,
        true if of_times <= of_rates => Some(spread((peers, ours))),
        true => Some(spread((ours, peers))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(subject: &str, unit: &str, median: f64, range: Option<(f64, f64)>) -> KeptResult {
        KeptResult {
            name: "status/large".to_owned(),
            subject: subject.to_owned(),
            unit: unit.to_owned(),
            median: Some(median),
            range,
            target: (unit == "ratio").then_some(10.0),
            met: (unit == "ratio").then_some(median >= 10.0),
            date: "2026-11-28".to_owned(),
            commit: "abc".to_owned(),
            machine: "x".to_owned(),
        }
    }

    #[test]
    fn a_ratio_reaches_over_the_ranges_of_both() {
        let results = vec![
            kept("varve against hg 7.2.4", "ratio", 4.0, None),
            kept("varve", "wall seconds", 0.1, Some((0.05, 0.2))),
            kept("hg 7.2.4", "wall seconds", 1.0, Some((0.8, 2.0))),
            kept("varve against hg 7.2.4", "ratio", 10.0, None),
            kept("p99 against p99 at rest", "ratio", 2.0, None),
        ];
        let all = series(&results);
        assert_eq!(all.len(), 4);
        let file = ResultFile {
            name: "commands".to_owned(),
            results: results.clone(),
        };
        for (chart, label) in [
            (of_file("commands", &all), "status/large"),
            (of_summary(&[file]), "hg status"),
        ] {
            let Some(Chart::Ratios(chart)) = chart else {
                panic!("no chart");
            };
            assert_eq!(chart.series, ["hg"]);
            assert_eq!((chart.rows.len(), chart.rows[0].label.as_str()), (1, label));
            let mark = chart.rows[0].marks[0];
            assert_eq!((mark.low, mark.median, mark.high), (4.0, 10.0, 40.0));
        }
    }

    #[test]
    fn ratios_against_git_are_rows_by_corpus() {
        let named = |name: &str, median: f64| KeptResult {
            name: name.to_owned(),
            ..kept(
                "varve",
                "number",
                median,
                Some((median / 2.0, median * 2.0)),
            )
        };
        let results = vec![
            named("hg-large/commands/log/git_ratio", 3.0),
            named("hg-large/commands/log/git", 0.4),
            named("hg-medium/commands/log/git_ratio", 2.0),
            named("hg-large/commands/log/git_ratio", 4.0),
            named("repo-large/chunks/log/git_ratio", 5.0),
        ];
        let name = "choices".to_owned();
        let Some(Chart::Ratios(chart)) = of_git(&[ResultFile { name, results }]) else {
            panic!("no chart");
        };
        assert_eq!(chart.series, ["git, large corpus", "git, medium corpus"]);
        assert_eq!((chart.rows.len(), chart.rows[0].label.as_str()), (1, "log"));
        let medians: Vec<f64> = chart.rows[0].marks.iter().map(|mark| mark.median).collect();
        assert_eq!(medians, [4.0, 2.0]);
    }

    #[test]
    fn a_picture_has_the_peers_that_are_asked_for() {
        let named = |subject: &str| KeptResult {
            name: "documents/get".to_owned(),
            ..kept(subject, "ratio", 1.5, None)
        };
        let results = vec![
            named("varve against sqlite 3.40.1, in process"),
            named("varve against postgresql 15.14"),
        ];
        let name = "peers".to_owned();
        let Some(Chart::Ratios(chart)) = of_databases(&[ResultFile { name, results }]) else {
            panic!("no chart");
        };
        assert_eq!(chart.series, ["postgresql"]);
        assert_eq!(chart.rows[0].label, "GET of a document");
    }

    #[test]
    fn bounds_on_costs_are_no_ratios() {
        let mut bound = kept("varve against rest", "ratio", 1.2, None);
        (bound.target, bound.met) = (Some(2.0), Some(true));
        assert!(!is_better_when_more(&bound));
    }
}

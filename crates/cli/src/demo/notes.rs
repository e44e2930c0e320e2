//! The demo's repository: the notebook of a small lake survey. The same history comes out every
//! time.

use super::random::Random;
use std::collections::BTreeMap;

/// Path of the repository below `repos/`.
pub(crate) const NAME: &str = "field-notes";
/// Seconds since 1970 of the first commit, 2024-03-01 08:00 UTC.
const BEGIN: u64 = 1_709_280_000;
const DAY: u64 = 86_400;
/// Days of the month in which it begins.
const MARCH: u64 = 31;
/// The working days of the survey; each is a commit.
const DAYS: u64 = 36;
/// On this day the calibration leaves the main line…
const BRANCHED: u64 = 12;
/// …and on this one it comes back.
const MERGED: u64 = 24;
/// Branch of the calibration.
const BRANCH: &str = "calibration";

/// One commit of the history.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    /// Committer.
    pub(crate) user: &'static str,
    /// Seconds since 1970.
    pub(crate) date: u64,
    pub(crate) message: String,
    /// Named branch.
    pub(crate) branch: &'static str,
    /// Positions of the parents in the list of commits.
    pub(crate) parents: Vec<usize>,
    /// All files after this commit.
    pub(crate) files: Files,
}

/// Path and content of the files of one commit.
pub(crate) type Files = BTreeMap<String, String>;

const PEOPLE: [&str; 3] = [
    "Ada Ried <ada@lake.example>",
    "Bo Tiefen <bo@lake.example>",
    "Cleo Sand <cleo@lake.example>",
];

/// The history, parents before children, and the bookmarks with the position that each names.
pub(crate) fn history() -> (Vec<Commit>, Vec<(&'static str, usize)>) {
    let mut random = Random::new(11);
    let mut commits: Vec<Commit> = Vec::new();
    let mut main: Vec<usize> = Vec::new();
    let mut side: Vec<usize> = Vec::new();
    for day in 0..DAYS {
        let parent = main.last().copied();
        let mut files = parent.map_or_else(first_files, |at| commits[at].files.clone());
        let message = survey(day, &mut files, &mut random);
        let mut parents: Vec<usize> = parent.into_iter().collect();
        let mut message = message;
        if day == MERGED
            && let Some(&calibrated) = side.last()
        {
            parents.push(calibrated);
            let constants = commits[calibrated].files.get(CONSTANTS).cloned();
            files.extend(constants.map(|text| (CONSTANTS.to_owned(), text)));
            message = "Merge the calibration of the thermistor chains".to_owned();
        }
        main.push(commits.len());
        commits.push(commit(day, "default", message, parents, files));
        if (BRANCHED..MERGED).contains(&day) && day % 3 == 0 {
            let from = side.last().or(main.last()).copied().unwrap_or(0);
            let mut files = commits[from].files.clone();
            let message = calibrate(day, &mut files, &mut random);
            side.push(commits.len());
            commits.push(commit(day, BRANCH, message, vec![from], files));
        }
    }
    let last = main.last().copied().unwrap_or(0);
    let surveyed = main.get(BRANCHED as usize).copied().unwrap_or(0);
    (commits, vec![("@", last), ("first-survey", surveyed)])
}

fn commit(
    day: u64,
    branch: &'static str,
    message: String,
    parents: Vec<usize>,
    files: Files,
) -> Commit {
    let person = (day * 7 % 3) as usize;
    let later = if branch == BRANCH { 7_200 } else { 0 };
    Commit {
        user: PEOPLE[person],
        date: BEGIN + day * DAY + day * 613 + later,
        message,
        branch,
        parents,
        files,
    }
}

const CONSTANTS: &str = "tools/constants.txt";

fn first_files() -> Files {
    let readme = "# Field notes\n\nWhat we saw at the lake, day by day, and how we measured it.\n\n\
                  - `log/` has one file per month.\n- `cores/` has the sediment cores.\n\
                  - `tools/` turns readings into numbers.\n";
    let level = "\"\"\"Water level from the pressure of the gauge.\"\"\"\n\nDENSITY = 999.8\nGRAVITY = 9.81\n\n\n\
                 def level(pascal):\n    return pascal / (DENSITY * GRAVITY)\n";
    let constants = "# chain  offset  slope\nA  0.00  1.000\nB  0.00  1.000\nC  0.00  1.000\n";
    let files = [
        ("README.md", readme),
        ("tools/level.py", level),
        (CONSTANTS, constants),
    ];
    let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
    files.into_iter().collect()
}

/// A day on the water: an entry in the month's log, and on some days a new core.
fn survey(day: u64, files: &mut Files, random: &mut Random) -> String {
    const WEATHER: [&str; 5] = [
        "fog until ten",
        "clear",
        "light rain",
        "gusts from the west",
        "still water",
    ];
    const SEEN: [&str; 6] = [
        "The ice has gone from the northern bay.",
        "Two grebes nest in the reeds by the jetty.",
        "The thermocline stands a metre deeper than last week.",
        "Pollen lies on the surface in yellow bands.",
        "The outflow gauge was blocked by leaves; cleaned.",
        "A pike followed the boat to the deep point.",
    ];
    let (month, date) = if day < MARCH {
        (3, day + 1)
    } else {
        (4, day - MARCH + 1)
    };
    let weather = WEATHER[random.below(5) as usize];
    let level = 2_310 + random.below(90);
    let surface = 48 + 3 * day + random.below(9);
    let path = format!("log/2024-{month:02}.md");
    let log = files
        .entry(path)
        .or_insert_with(|| format!("# 2024-{month:02}\n"));
    log.push_str(&format!(
        "\n## {date:02}\n\n{weather}. Level {}.{:03} m, surface {}.{} °C.\n{}\n",
        level / 1000,
        level % 1000,
        surface / 10,
        surface % 10,
        SEEN[random.below(6) as usize]
    ));
    if day % 5 != 4 {
        return format!("Log of 2024-{month:02}-{date:02}: {weather}");
    }
    let number = day / 5 + 1;
    let mut core =
        format!("core {number}, deep point, 2024-{month:02}-{date:02}\nmm from top | layer\n");
    let mut depth = 0;
    for year in 0..40 + random.below(30) {
        let light = 1 + random.below(3);
        core.push_str(&format!("{depth:5} | {} light, diatoms\n", 2023 - year));
        depth += light;
        core.push_str(&format!("{depth:5} | {} dark, clay\n", 2023 - year));
        depth += 1 + random.below(2);
    }
    files.insert(format!("cores/core-{number:02}.txt"), core);
    format!("Count the varves of core {number}")
}

fn calibrate(day: u64, files: &mut Files, random: &mut Random) -> String {
    let chain = ["A", "B", "C"][(day / 3 % 3) as usize];
    let offset = random.below(40);
    let changed = files.get(CONSTANTS).map(|text| {
        let lines = text.lines().map(|line| {
            if line.starts_with(chain) {
                format!("{chain}  0.{offset:02}  1.{:03}\n", offset / 4)
            } else {
                format!("{line}\n")
            }
        });
        lines.collect::<String>()
    });
    files.extend(changed.map(|text| (CONSTANTS.to_owned(), text)));
    format!("Calibrate chain {chain} in the ice bath")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_has_a_branch_a_merge_and_bookmarks() {
        let (commits, bookmarks) = history();
        assert!(commits.len() >= 40, "{}", commits.len());
        for (at, commit) in commits.iter().enumerate() {
            assert!(commit.parents.iter().all(|&parent| parent < at));
            assert_eq!(commit.parents.is_empty(), at == 0);
        }
        assert_eq!(commits.iter().filter(|c| c.parents.len() == 2).count(), 1);
        assert!(commits.iter().any(|c| c.branch == BRANCH));
        assert_eq!(bookmarks[0], ("@", commits.len() - 1));
        let changes = commits
            .windows(2)
            .all(|pair| pair[0].files != pair[1].files);
        assert!(changes, "every commit changes something");
    }
}

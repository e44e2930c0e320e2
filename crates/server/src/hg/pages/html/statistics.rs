//! Counts of a repository's history as pictures and tables.

use super::filled;
use super::frame::Frame;
use crate::hg::Statistics;
use crate::hg::pages::Page;
use crate::hg::pages::error::PageError;
use askama::Template;

/// Months that are drawn, the newest ones.
const MOST_MONTHS: i64 = 600;
/// Height of the picture of months, in its own units; a month is one wide.
const HEIGHT: u64 = 100;

/// A month of the picture.
#[derive(Debug, PartialEq, Eq)]
struct MonthBar {
    x: i64,
    y: u64,
    height: u64,
}

/// A row with a bar of so many percent of the longest.
struct CountRow {
    name: String,
    count: String,
    percent: u64,
}

#[derive(Debug, PartialEq, Eq)]
struct YearRow {
    year: i64,
    count: u64,
}

#[derive(Template)]
#[template(path = "statistics.html")]
struct StatisticsPage {
    frame: Frame,
    note: Option<String>,
    /// First and last month of the picture.
    span: Option<(String, String)>,
    width: i64,
    months: Vec<MonthBar>,
    years: Vec<YearRow>,
    authors: Vec<CountRow>,
    churn: Vec<CountRow>,
}

pub(super) fn statistics(page: &Page<'_>) -> Result<String, PageError> {
    let found = page.database.map(|database| database.statistics());
    let found = found.transpose().map_err(PageError::Failed)?.flatten();
    let Some(found) = found else {
        let words = "statistics are drawn from the repository's database, which it has not";
        return Err(PageError::missing(words.to_owned()));
    };
    let (span, months) = bars(&found.months);
    let width = span.map_or(0, |(first, last)| last - first + 1);
    filled(&StatisticsPage {
        frame: Frame::new(page, "Statistics".to_owned(), Some("statistics")),
        note: (found.pending > 0).then(|| {
            let pending = found.pending;
            format!("{pending} documents are not counted yet; load the page again in a moment.")
        }),
        span: span.map(|(first, last)| (month_name(first), month_name(last))),
        width,
        months,
        years: years(&found),
        authors: count_rows(
            found
                .authors
                .iter()
                .map(|(name, count)| (name.clone(), *count, count.to_string())),
        ),
        churn: count_rows(found.churn.iter().map(|(path, added, removed)| {
            let shown = format!("+{added} \u{2212}{removed}");
            (path.clone(), added + removed, shown)
        })),
    })
}

/// A month as a number that grows by one each month; `None` for one that no calendar has.
fn month_number(year: i64, month: u64) -> Option<i64> {
    let is_month = (1..=12).contains(&month) && (0..=9999).contains(&year);
    is_month.then(|| year * 12 + month as i64 - 1)
}

fn month_name(number: i64) -> String {
    format!("{:04}-{:02}", number / 12, number % 12 + 1)
}

/// The first and the last month, and the bars between.
fn bars(months: &[(i64, u64, u64)]) -> (Option<(i64, i64)>, Vec<MonthBar>) {
    let known = |(year, month, count): &(i64, u64, u64)| {
        month_number(*year, *month).map(|number| (number, *count))
    };
    let mut counted: Vec<(i64, u64)> = months.iter().filter_map(known).collect();
    let Some((last, _)) = counted.last().copied() else {
        return (None, Vec::new());
    };
    counted.retain(|(number, _)| last - number < MOST_MONTHS);
    let first = counted.first().map_or(last, |(number, _)| *number);
    let most = counted
        .iter()
        .map(|(_, count)| *count)
        .max()
        .unwrap_or(1)
        .max(1);
    let bar = |(number, count): &(i64, u64)| {
        let height = (count.saturating_mul(HEIGHT) / most).max(1);
        MonthBar {
            x: number - first,
            y: HEIGHT - height,
            height,
        }
    };
    (Some((first, last)), counted.iter().map(bar).collect())
}

/// Years with changesets, the newest first.
fn years(found: &Statistics) -> Vec<YearRow> {
    let mut years: Vec<YearRow> = Vec::new();
    for (year, _, count) in found.months.iter().rev() {
        match years.last_mut() {
            Some(last) if last.year == *year => last.count += count,
            _ => years.push(YearRow {
                year: *year,
                count: *count,
            }),
        }
    }
    years
}

/// Rows of names with numbers and their words, the greatest number first.
fn count_rows(rows: impl Iterator<Item = (String, u64, String)>) -> Vec<CountRow> {
    let rows: Vec<(String, u64, String)> = rows.collect();
    let most = rows.first().map_or(1, |(_, number, _)| *number).max(1);
    let row = |(name, number, count): (String, u64, String)| CountRow {
        name,
        count,
        percent: number.saturating_mul(100) / most,
    };
    rows.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_without_changesets_leave_gaps() {
        let (span, found) = bars(&[(2023, 12, 1), (2024, 2, 4), (2024, 13, 9), (-5, 1, 9)]);
        assert_eq!(
            span.map(|(first, last)| (month_name(first), month_name(last))),
            Some(("2023-12".to_owned(), "2024-02".to_owned()))
        );
        let shown: Vec<_> = found.iter().map(|bar| (bar.x, bar.y, bar.height)).collect();
        assert_eq!(shown, [(0, 75, 25), (2, 0, 100)]);
        assert_eq!(bars(&[]), (None, Vec::new()));
    }

    #[test]
    fn a_date_long_ago_does_not_make_the_picture_wide() {
        let (span, found) = bars(&[(1, 1, 1), (2024, 1, u64::MAX), (2024, 2, 1)]);
        let (first, last) = span.unwrap();
        assert_eq!((last - first, found.len()), (1, 2));
    }

    #[test]
    fn years_are_sums_of_months() {
        let found = Statistics {
            months: vec![(2023, 12, 1), (2024, 1, 2), (2024, 2, 3)],
            ..Statistics::default()
        };
        let shown: Vec<_> = years(&found)
            .iter()
            .map(|row| (row.year, row.count))
            .collect();
        assert_eq!(shown, [(2024, 5), (2023, 1)]);
    }
}

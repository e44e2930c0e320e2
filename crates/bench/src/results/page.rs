//! The page.

use super::ratios::{Series, of_databases, of_file, of_git, of_summary, series};
use super::{KeptResult, ResultFile};
use crate::BenchError;
use crate::report::{END, escaped, head, push_chart, sparkline};
use std::collections::BTreeSet;

/// One page with a plot of the newest ratios and a table of all quantities for each file.
///
/// # Errors
/// [`BenchError::Plot`].
pub fn page(files: &[ResultFile]) -> Result<String, BenchError> {
    let mut out = head("Varve over time and against peers");
    let all = || files.iter().flat_map(|file| &file.results);
    let dates: BTreeSet<&str> = all().map(|result| result.date.as_str()).collect();
    let machines: BTreeSet<&str> = all().map(|result| result.machine.as_str()).collect();
    let (first, last) = (dates.first(), dates.last());
    out.push_str(&format!(
        "<p>Made of {} results in <code>bench/results</code>, measured from {} to {} on {}. Each row of a table is the \
         newest result, as median and range; the line beside it shows all medians from the oldest to the newest. In a \
         plot, a mark right of 1 means that Varve is so many times better, and its bar reaches over the ranges of both \
         programs.</p>\n",
        all().count(),
        escaped(first.copied().unwrap_or_default()),
        escaped(last.copied().unwrap_or_default()),
        escaped(&machines.into_iter().collect::<Vec<_>>().join("; ")),
    ));
    let charts = [of_summary(files), of_git(files), of_databases(files)];
    for chart in charts.iter().flatten() {
        push_chart(&mut out, chart)?;
    }
    out.push_str("<p>");
    for file in files {
        let name = escaped(&file.name);
        out.push_str(&format!("<a href=\"#{name}\">{name}</a> "));
    }
    out.push_str("</p>\n");
    for file in files {
        push_file(&mut out, file)?;
    }
    out.push_str(END);
    Ok(out)
}

/// Pages with one plot each, for pictures: the name of the picture, and the page.
///
/// # Errors
/// [`BenchError::Plot`]; [`BenchError::Nothing`] without any row of one of them.
pub fn pictures(files: &[ResultFile]) -> Result<Vec<(&'static str, String)>, BenchError> {
    let mut pages = Vec::new();
    for (name, chart) in [
        ("against-ancestors", of_summary(files)),
        ("against-git", of_git(files)),
        ("against-databases", of_databases(files)),
    ] {
        let mut page = head("Varve against peers");
        push_chart(&mut page, &chart.ok_or(BenchError::Nothing)?)?;
        page.push_str(END);
        pages.push((name, page));
    }
    Ok(pages)
}

fn push_file(out: &mut String, file: &ResultFile) -> Result<(), BenchError> {
    let name = escaped(&file.name);
    out.push_str(&format!("<h2 id=\"{name}\">{name}</h2>\n"));
    let series = series(&file.results);
    if let Some(chart) = of_file(&file.name, &series) {
        push_chart(out, &chart)?;
    }
    out.push_str(
        "<details><summary>All quantities</summary>\n<div class=\"table\">\n<table>\n<thead><tr><th>work</th>\
         <th>subject</th><th class=\"number\">newest</th><th>unit</th><th class=\"number\">target</th><th>met</th>\
         <th>over time</th><th>measured</th></tr></thead>\n<tbody>\n",
    );
    for one in &series {
        push_row(out, one)?;
    }
    out.push_str("</tbody>\n</table>\n</div>\n</details>\n");
    Ok(())
}

fn push_row(out: &mut String, series: &Series<'_>) -> Result<(), BenchError> {
    let KeptResult {
        name,
        subject,
        unit,
        range,
        target,
        met,
        date,
        commit,
        ..
    } = series.last;
    let newest = match (series.last.median, range) {
        (None, _) => "not done".to_owned(),
        (Some(median), None) => short(median),
        (Some(median), Some((low, high))) => {
            format!("{} ({}-{})", short(median), short(*low), short(*high))
        }
    };
    let values: Vec<f64> = series.results.iter().filter_map(|one| one.median).collect();
    let line = match values.len() {
        0 | 1 => String::new(),
        _ => sparkline(&values)?,
    };
    let met = match met {
        None => "",
        Some(true) => "yes",
        Some(false) => "no",
    };
    out.push_str(&format!(
        "<tr><td>{}</td><td>{}</td><td class=\"number\">{newest}</td><td>{}</td><td class=\"number\">{}</td><td>{met}</td>\
         <td>{line}</td><td>{} {}</td></tr>\n",
        escaped(name),
        escaped(subject),
        escaped(unit),
        target.map(short).unwrap_or_default(),
        escaped(date),
        escaped(commit),
    ));
    Ok(())
}

/// Four significant digits.
fn short(number: f64) -> String {
    let magnitude = number.abs().max(1e-12).log10().floor() as i32;
    let digits = usize::try_from(3 - magnitude).unwrap_or(0).min(6);
    let text = format!("{number:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(subject: &str, median: f64) -> KeptResult {
        KeptResult {
            name: "log<".to_owned(),
            subject: subject.to_owned(),
            unit: "ratio".to_owned(),
            median: Some(median),
            range: None,
            target: Some(10.0),
            met: Some(median >= 10.0),
            date: "2026-11-28".to_owned(),
            commit: "abc".to_owned(),
            machine: "x".to_owned(),
        }
    }

    #[test]
    fn a_quantity_that_was_measured_again_has_a_line_and_names_are_escaped() {
        let file = ResultFile {
            name: "commands".to_owned(),
            results: vec![
                kept("varve against hg 7.2.4", 4.0),
                kept("varve against hg 7.2.4", 10.0),
                kept("p99 against p99 at rest", 2.0),
            ],
        };
        let page = page(std::slice::from_ref(&file)).unwrap();
        // One plot, and one line of the two ratios.
        assert_eq!(page.matches("<svg").count(), 2);
        assert!(
            page.contains("log&lt;") && !page.contains("log<"),
            "unescaped"
        );
        assert!(matches!(pictures(&[file]), Err(BenchError::Nothing)));
    }

    #[test]
    fn numbers_have_four_digits() {
        let texts = [0.0, 0.012345, 1.5, 12345.6].map(short);
        assert_eq!(texts, ["0", "0.01235", "1.5", "12346"]);
    }
}

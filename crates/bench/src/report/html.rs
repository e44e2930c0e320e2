//! A report as one page that needs nothing else: no script, no font, no picture from elsewhere.

use super::{Chart, ColumnUnit, Report, ResultTable, plot};
use crate::BenchError;

/// Light and dark by custom properties. The colours of series are those of Okabe and Ito, which people with any kind
/// of colour vision tell apart; shapes differ too.
const STYLE: &str = include_str!("page.css");

/// The page.
///
/// # Errors
/// [`BenchError::Plot`].
pub fn html(report: &Report) -> Result<String, BenchError> {
    let mut out = head(&report.title);
    out.push_str("<dl>\n");
    push_property(&mut out, "machine", &report.machine.to_string());
    for (name, value) in &report.properties {
        push_property(&mut out, name, value);
    }
    out.push_str("</dl>\n");
    for table in &report.tables {
        push_table(&mut out, table);
    }
    for snippet in &report.snippets {
        let (title, lines) = (escaped(&snippet.title), escaped(&snippet.lines.join("\n")));
        out.push_str(&format!("<p>{title}</p>\n<pre>{lines}</pre>\n"));
    }
    if !report.notes.is_empty() {
        out.push_str("<ul>\n");
        for note in &report.notes {
            out.push_str(&format!("<li>{}</li>\n", escaped(note)));
        }
        out.push_str("</ul>\n");
    }
    for chart in &report.charts {
        push_chart(&mut out, chart)?;
    }
    out.push_str(END);
    Ok(out)
}

/// The beginning of a page, with its heading.
pub(crate) fn head(title: &str) -> String {
    let title = escaped(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    )
}

/// The end of a page.
pub(crate) const END: &str = "</body>\n</html>\n";

fn push_property(out: &mut String, name: &str, value: &str) {
    out.push_str(&format!(
        "<dt>{}</dt><dd>{}</dd>\n",
        escaped(name),
        escaped(value)
    ));
}

fn push_table(out: &mut String, table: &ResultTable) {
    out.push_str(&format!(
        "<div class=\"table\">\n<table>\n<caption>{}</caption>\n<thead><tr>",
        escaped(&table.title)
    ));
    let class = |unit: ColumnUnit| match unit {
        ColumnUnit::Text => "",
        _ => " class=\"number\"",
    };
    for column in &table.columns {
        out.push_str(&format!(
            "<th{}>{}</th>",
            class(column.unit),
            escaped(&column.title())
        ));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (cell, column) in row.iter().zip(&table.columns) {
            let text = escaped(&cell.for_people(column.unit));
            out.push_str(&format!("<td{}>{text}</td>", class(column.unit)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
}

pub(crate) fn push_chart(out: &mut String, chart: &Chart) -> Result<(), BenchError> {
    let (title, svg) = (escaped(chart.title()), plot::svg(chart)?);
    out.push_str(&format!(
        "<figure role=\"img\" aria-label=\"{title}\">\n<figcaption>{title}</figcaption>\n{svg}</figure>\n"
    ));
    Ok(())
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

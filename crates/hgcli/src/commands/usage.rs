//! The usage of a command: its call and its options.

use crate::arguments::Flag;
use crate::arguments::flag::FlagKind;
use crate::context::Command;
use std::fmt::Write;

/// The usage that follows wrong arguments.
pub fn short(program: &str, command: &Command) -> String {
    let mut out = format!("{}\n\n{}\n", line(program, command), command.summary);
    let shown = command.options.iter().filter(|flag| is_listed(flag));
    let table = options(shown);
    if !table.is_empty() {
        let _ = write!(out, "\n{}\n\n{table}", heading(command.options));
    }
    let _ = write!(
        out,
        "\n(use '{program} {} -h' to show more help)\n",
        command.name()
    );
    out
}

/// The line with the synopsis.
pub fn line(program: &str, command: &Command) -> String {
    let line = format!("{program} {} {}", command.name(), command.synopsis);
    line.trim_end().to_owned()
}

/// Heading of a table of options.
pub fn heading(options: &[Flag]) -> &'static str {
    if options
        .iter()
        .any(|flag| matches!(flag.kind, FlagKind::List(_)))
    {
        "options ([+] can be repeated):"
    } else {
        "options:"
    }
}

/// Whether help shows an option; one that only old scripts use says so.
pub fn is_listed(flag: &Flag) -> bool {
    !flag.help.contains("(DEPRECATED)")
}

/// One line per option: letter, name, value, description.
pub fn options<'a>(flags: impl Iterator<Item = &'a Flag>) -> String {
    let rows: Vec<(String, &str)> = flags.map(|flag| (left(flag), flag.help)).collect();
    let width = rows.iter().map(|(left, _)| left.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (left, help) in rows {
        let _ = writeln!(out, " {left:width$} {help}");
    }
    out
}

fn left(flag: &Flag) -> String {
    let letter = match flag.short {
        Some(letter) => format!("-{letter}"),
        None => "  ".to_owned(),
    };
    let takes = match flag.kind {
        FlagKind::Flag => String::new(),
        FlagKind::Value(word) => format!(" {word}"),
        FlagKind::List(word) => format!(" {word} [+]"),
    };
    format!("{letter} --{}{takes}", flag.long)
}

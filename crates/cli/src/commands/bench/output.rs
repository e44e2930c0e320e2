//! Output of the results of a measurement, in the forms that are asked for.

use crate::context::Context;
use crate::error::CliError;
use std::path::PathBuf;
use varve_bench::report::{self, Report};

/// The options about output that all measurements share.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub(crate) struct OutputArgs {
    /// Print one JSON object
    #[arg(long, conflicts_with_all = ["csv", "md"])]
    json: bool,
    /// Print the tables as comma-separated values, an empty line between two
    #[arg(long, conflicts_with = "md")]
    csv: bool,
    /// Print Markdown
    #[arg(long)]
    md: bool,
    /// Also write one self-contained page with plots to FILE
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl OutputArgs {
    /// Writes the page, and prints the report.
    pub(crate) fn print(&self, report: &Report, context: &mut Context<'_>) -> Result<(), CliError> {
        if let Some(file) = &self.html {
            let page = report::html(report)?;
            std::fs::write(file, page).map_err(|source| CliError::File {
                file: file.clone(),
                source,
            })?;
        }
        let text = match self {
            OutputArgs { json: true, .. } => report::json(report),
            OutputArgs { csv: true, .. } => report::csv(report),
            OutputArgs { md: true, .. } => report::markdown(report),
            _ => report::terminal(report),
        };
        context.out.write_all(text.as_bytes())?;
        match report.is_cut_short {
            true => Err(CliError::CutShort),
            false => Ok(()),
        }
    }
}

//! `debugrevspec`: the answer to a query, and the trees that it is read as.

use crate::arguments::{Flag, Matches};
use crate::context::revision::{abort, aliases};
use crate::context::{Command, Context};
use crate::ui::{Abort, Ui};
use varve_revset::{Engine, RevsetError, Set, Syntax, analyzed, concatenated, lower, optimized};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugrevspec"],
    options: &[
        Flag::long_flag(
            "optimize",
            "print the tree that is evaluated too (DEPRECATED)",
        ),
        Flag::long_flag(
            "show-revs",
            "print the numbers of the changesets, as by default",
        ),
        Flag::flag('s', "show-set", "print how the answer is represented"),
        Flag::list('p', "show-stage", "NAME", "print the tree of this stage"),
        Flag::long_flag(
            "no-optimized",
            "evaluate the tree before simpler forms are looked for",
        ),
        Flag::long_flag(
            "verify-optimized",
            "compare the answers of the trees before and after that",
        ),
    ],
    arguments: 1..=1,
    synopsis: "REVSPEC",
    summary: "print the numbers of the changesets that a query means",
    help: "One per line, in the order of the query. Stages are parsed, expanded (without aliases), \
           concatenated (without ##), analyzed (without groups and derived operators), optimized, and \
           all. With -v, the tree is printed as it is written, and with each of the first \
           stages that changes it.\n\nEnds with 0, or with 1 if compared answers differ.",
    category: None,
    run,
};

/// Stages of a tree, in their order.
const STAGES: &[&str] = &[
    "parsed",
    "expanded",
    "concatenated",
    "analyzed",
    "optimized",
];
/// Stages that are printed where they change a tree.
const USUAL: usize = 3;

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context { repo, ui, .. } = context;
    let query = &matches.arguments()[0][..];
    let stages = stages(matches)?;
    let verbose = ui.verbosity.verbose && matches.list("show-stage").is_empty();
    let view = repo.view()?;
    let engine = repo.engine(&view)?;
    let wrong = |error| abort(error, query);
    let written = engine.written(query).map_err(wrong)?;
    let mut printer = StagePrinter {
        stages: &stages,
        verbose,
        last: None,
    };
    printer.print(ui, 0, &written)?;
    repo.warn_of_disabled_markers_for(ui, &[query])?;
    let expanded = aliases(&repo.config).expand(&written).map_err(wrong)?;
    printer.print(ui, 1, &expanded)?;
    let joined = concatenated(expanded).map_err(wrong)?;
    printer.print(ui, 2, &joined)?;
    let plain = analyzed(joined).map_err(wrong)?;
    printer.print(ui, 3, &plain)?;
    if matches.flag("verify-optimized") {
        let better = optimized(plain.clone());
        printer.print(ui, 4, &better)?;
        return compare(
            ui,
            &engine,
            [&plain, &better].map(|tree| evaluated(&engine, tree)),
        );
    }
    let best = match matches.flag("no-optimized") {
        true => plain,
        false => {
            let better = optimized(plain);
            printer.print(ui, 4, &better)?;
            better
        }
    };
    let set = evaluated(&engine, &best).map_err(wrong)?;
    if ui.verbosity.verbose || matches.flag("show-set") {
        let shown = set.representation(&engine)?;
        ui.write(format!("* set:\n{shown}\n"))?;
    }
    if matches.switch("show-revs").unwrap_or(true) {
        for number in numbers(&engine, &set)? {
            ui.write(format!("{number}\n"))?;
        }
    }
    Ok(0)
}

fn evaluated(engine: &Engine<'_>, tree: &Syntax) -> Result<Set, RevsetError> {
    engine.evaluate(&lower(tree)?)
}

fn numbers(engine: &Engine<'_>, set: &Set) -> Result<Vec<i64>, RevsetError> {
    let members = set.all_members(engine);
    let numbers = members.map(|member| Ok(member?.map_or(-1, |rev| i64::from(rev.0))));
    numbers.collect()
}

/// Prints what differs between the answers before and after the last stage.
fn compare(
    ui: &mut Ui,
    engine: &Engine<'_>,
    sets: [Result<Set, RevsetError>; 2],
) -> Result<u8, Abort> {
    let [plain, better] = sets;
    let (plain, better) = (plain?, better?);
    if ui.verbosity.verbose {
        let shown = [&plain, &better].map(|set| set.representation(engine));
        let [first, second] = shown;
        ui.write(format!("* analyzed set:\n{}\n", first?))?;
        ui.write(format!("* optimized set:\n{}\n", second?))?;
    }
    let (plain, better) = (numbers(engine, &plain)?, numbers(engine, &better)?);
    if plain == better {
        return Ok(0);
    }
    ui.write("--- analyzed\n+++ optimized\n")?;
    for (sign, numbers) in [('-', plain), ('+', better)] {
        for number in numbers {
            ui.write(format!("{sign}{number}\n"))?;
        }
    }
    Ok(1)
}

/// The stages that the options ask for.
fn stages(matches: &Matches) -> Result<Vec<&'static str>, Abort> {
    let names = matches.list("show-stage");
    if matches.flag("verify-optimized") && matches.flag("no-optimized") {
        return Err(Abort::new(
            "cannot use --verify-optimized with --no-optimized",
        ));
    }
    if matches.flag("optimize") {
        if !names.is_empty() {
            return Err(Abort::new("cannot use --optimize with --show-stage"));
        }
        return Ok(vec!["optimized"]);
    }
    let mut asked = Vec::new();
    for name in names {
        let is_name = |stage: &&&str| stage.as_bytes() == name;
        if name == b"all" {
            asked.extend(STAGES);
        } else if let Some(stage) = STAGES.iter().find(is_name) {
            asked.push(*stage);
        } else {
            let name = String::from_utf8_lossy(name);
            return Err(Abort::new(format!("invalid stage name: {name}")));
        }
    }
    Ok(asked)
}

struct StagePrinter<'a> {
    stages: &'a [&'static str],
    /// Whether all stages that change the tree are printed.
    verbose: bool,
    last: Option<Syntax>,
}

impl StagePrinter<'_> {
    fn print(&mut self, ui: &mut Ui, stage: usize, tree: &Syntax) -> Result<(), Abort> {
        let name = STAGES[stage];
        let changed = self.last.as_ref() != Some(tree);
        if self.stages.contains(&name) {
            ui.write(format!("* {name}:\n{tree}\n"))?;
        } else if self.verbose && changed && stage < USUAL {
            let heading = match stage {
                0 => String::new(),
                _ => format!("* {name}:\n"),
            };
            ui.write(format!("{heading}{tree}\n"))?;
        }
        self.last = Some(tree.clone());
        Ok(())
    }
}

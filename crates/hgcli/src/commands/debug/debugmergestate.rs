//! `debugmergestate`: the merge that is under way.

use crate::arguments::{Matches, TEMPLATE};
use crate::context::{Command, Context};
use crate::render::Formatter;
use crate::render::formatter::Value;
use crate::ui::{Abort, Ui};
use varve_repo::{FileKind, Node};
use varve_workdir::{Dirstate, FileState, MergeState, OldFileState, OldMergeState, Present};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugmergestate"],
    options: &[TEMPLATE],
    arguments: 0..=0,
    synopsis: "",
    summary: "print the state of a merge",
    help: "Prints the two sides, each file with its versions, and extras of files.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let repository = repo.repository()?;
    let state = MergeState::read(&repository)?;
    let old = OldMergeState::read(&repository)?;
    let mut out = Formatter::new(ui, config, matches, "debugmergestate")?;
    let disagrees = |old: &OldMergeState| state.as_ref().is_none_or(|new| !old.agrees_with(new));
    if let Some(old) = old.filter(disagrees) {
        ui.note(match &state {
            None => "no version 2 merge state\n",
            Some(_) => "v1 and v2 states mismatch: using v1\n",
        })?;
        let [first, second] = Dirstate::read(&repository)?.parents();
        let other = if second.is_null() { first } else { second };
        print_old(ui, &mut out, &old, other)?;
        out.end(ui)?;
        return Ok(0);
    }
    if !out.is_plain() {
        out.item(ui)?;
        let state = state.as_ref();
        out.data("commits", Value::List(state.map_or(Vec::new(), commits)));
        out.data("files", Value::List(state.map_or(Vec::new(), files)));
        out.data(
            "extras",
            Value::List(state.map_or(Vec::new(), other_extras)),
        );
        out.end(ui)?;
        return Ok(0);
    }
    match &state {
        None => ui.write("no merge state found\n")?,
        Some(state) => {
            ui.note("v1 and v2 states match: using v2\n")?;
            print(ui, state)?;
        }
    }
    Ok(0)
}

/// The sides of the merge: name, label, changeset.
fn sides(state: &MergeState) -> [(&'static str, &[u8], Node); 2] {
    let label = |label| if state.has_labels() { label } else { &b""[..] };
    [
        ("local", label(&state.labels.ours), state.local),
        ("other", label(&state.labels.theirs), state.other),
    ]
}

/// Properties of a file, by name.
fn facts(file: &FileState) -> [(&'static str, Vec<u8>); 8] {
    let side = |side: &Option<Present>| match side {
        Some(Present { path, node }) => (path.clone(), node.to_hex().to_vec()),
        None => (file.path.clone(), Node::NULL.to_hex().to_vec()),
    };
    let (base, base_node) = side(&file.base);
    let (theirs, their_node) = side(&file.theirs);
    let flags: &[u8] = match file.kind {
        FileKind::Plain => b"",
        FileKind::Executable => b"x",
        FileKind::Symlink => b"l",
    };
    let state: &[u8] = if file.resolved { b"r" } else { b"u" };
    [
        ("state", state.to_vec()),
        (
            "local_path",
            file.ours.as_ref().unwrap_or(&file.path).clone(),
        ),
        ("local_key", file.key().into_bytes()),
        ("local_flags", flags.to_vec()),
        ("ancestor_path", base),
        ("ancestor_node", base_node),
        ("other_path", theirs),
        ("other_node", their_node),
    ]
}

fn print(ui: &mut Ui, state: &MergeState) -> Result<(), Abort> {
    for (name, label, node) in sides(state) {
        let label = match label {
            [] => String::new(),
            label => format!(" ({})", String::from_utf8_lossy(label)),
        };
        ui.write(format!("{name}{label}: {node}\n"))?;
    }
    for file in state.files() {
        let facts = facts(file);
        let [
            state_name,
            ours,
            key,
            flags,
            base,
            base_node,
            theirs,
            their_node,
        ] = facts.each_ref().map(|(_, value)| &value[..]);
        let lines: [&[&[u8]]; 4] = [
            &[b"file: ", &file.path, b" (state \"", state_name, b"\")\n"],
            &[
                b"  local path: ",
                ours,
                b" (hash ",
                key,
                b", flags \"",
                flags,
                b"\")\n",
            ],
            &[b"  ancestor path: ", base, b" (node ", base_node, b")\n"],
            &[b"  other path: ", theirs, b" (node ", their_node, b")\n"],
        ];
        for line in lines {
            ui.write(line.concat())?;
        }
        for (key, value) in state.extras_of(&file.path) {
            ui.write([b"  extra: ", key, b" = ", value, b"\n"].concat())?;
        }
    }
    for path in state.other_paths() {
        for (key, value) in state.extras_of(path) {
            ui.write([b"extra: ", path, b" (", key, b" = ", value, b")\n"].concat())?;
        }
    }
    Ok(())
}

/// Prints the older list, which lacks the other changeset and their nodes.
fn print_old(
    ui: &mut Ui,
    out: &mut Formatter,
    state: &OldMergeState,
    other: Node,
) -> Result<(), Abort> {
    let sides = [("local", state.local), ("other", other)];
    if !out.is_plain() {
        let commits = sides
            .map(|(name, node)| dictionary([("name", name.into()), ("node", Value::from(node))]));
        out.item(ui)?;
        out.data("commits", Value::List(commits.into()));
        let files = state.files.iter().map(old_file);
        out.data("files", Value::List(files.collect()));
        out.data("extras", Value::List(Vec::new()));
        return Ok(());
    }
    for (name, node) in sides {
        ui.write(format!("{name}: {node}\n"))?;
    }
    for file in &state.files {
        let lines: [&[&[u8]]; 4] = [
            &[b"file: ", &file.path, b" (state \"", &file.state, b"\")\n"],
            &[
                b"  local path: ",
                &file.ours,
                b" (hash ",
                &file.key,
                b", flags \"",
                &file.flags,
                b"\")\n",
            ],
            &[
                b"  ancestor path: ",
                &file.base,
                b" (node ",
                &file.base_node,
                b")\n",
            ],
            // Mercurial prints their path where the newer list has their node.
            &[b"  other path:  (node ", &file.theirs, b")\n"],
        ];
        for line in lines {
            ui.write(line.concat())?;
        }
    }
    Ok(())
}

fn old_file(file: &OldFileState) -> Value {
    dictionary([
        ("path", Value::from(&file.path)),
        ("state", Value::from(&file.state)),
        ("local_path", Value::from(&file.ours)),
        ("local_key", Value::from(&file.key)),
        ("local_flags", Value::from(&file.flags)),
        ("ancestor_path", Value::from(&file.base)),
        ("ancestor_node", Value::from(&file.base_node)),
        ("other_path", Value::from("")),
        ("other_node", Value::from(&file.theirs)),
        ("extras", Value::List(Vec::new())),
    ])
}

fn dictionary<'a>(entries: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let entries = entries.into_iter();
    let mut entries: Vec<(Vec<u8>, Value)> = entries
        .map(|(name, value)| (name.as_bytes().to_vec(), value))
        .collect();
    entries.sort_by(|(left, _), (right, _)| left.cmp(right));
    Value::Dict(entries)
}

fn commits(state: &MergeState) -> Vec<Value> {
    let commit = |(name, label, node): (&'static str, &[u8], Node)| {
        dictionary([
            ("name", Value::from(name)),
            ("label", Value::from(label)),
            ("node", Value::from(node)),
        ])
    };
    sides(state).into_iter().map(commit).collect()
}

fn files(state: &MergeState) -> Vec<Value> {
    let file = |file: &FileState| {
        let extras = state.extras_of(&file.path).map(|(key, value)| {
            dictionary([("key", Value::from(key)), ("value", Value::from(value))])
        });
        let facts = facts(file).map(|(name, value)| (name, Value::from(value)));
        let others = [
            ("path", Value::from(&file.path)),
            ("extras", Value::List(extras.collect())),
        ];
        dictionary(facts.into_iter().chain(others))
    };
    state.files().map(file).collect()
}

fn other_extras(state: &MergeState) -> Vec<Value> {
    let mut all = Vec::new();
    for path in state.other_paths() {
        for (key, value) in state.extras_of(path) {
            all.push(dictionary([
                ("file", Value::from(path)),
                ("key", Value::from(key)),
                ("value", Value::from(value)),
            ]));
        }
    }
    all
}

//! `debugobsolete`: lists, adds and removes obsolescence markers.

use crate::arguments::{Flag, Matches, TEMPLATE};
use crate::commands::local::commit::metadata;
use crate::commands::local::instabilities;
use crate::context::{Command, Config, Context, Repo};
use crate::render::Formatter;
use crate::render::formatter::{Row, Value};
use crate::ui::{Abort, Ui};
use std::collections::BTreeSet;
use varve_repo::{ListedMarker, LockKind, NewMarker, Node, RepoError, ViewFilter, python_repr};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugobsolete"],
    options: &[
        Flag::long_value("flags", "VALUE", "bits of the marker"),
        Flag::long_flag(
            "record-parents",
            "keep the parents of the obsolete changeset too",
        ),
        Flag::list(
            'r',
            "rev",
            "VALUE",
            "only markers that concern these changesets",
        ),
        Flag::long_flag("index", "print the places of the markers"),
        Flag::long_list("delete", "VALUE", "remove the markers at these places"),
        Flag::value('d', "date", "DATE", "the date of the marker"),
        Flag::value('u', "user", "USER", "the user of the marker"),
        TEMPLATE,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OBSOLETED [REPLACEMENT ...]]",
    summary: "list obsolescence markers, or make one",
    help: "Changesets are named by all forty digits of their nodes.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    if !matches.list("delete").is_empty() {
        return remove(repo, ui, &matches.list("delete"));
    }
    match matches.arguments() {
        [] => list(repo, ui, config, matches),
        named => add(repo, ui, config, matches, named),
    }
}

fn remove(repo: &mut Repo, ui: &mut Ui, typed: &[&[u8]]) -> Result<u8, Abort> {
    let mut places = BTreeSet::new();
    for text in typed {
        let place = std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.trim().parse().ok());
        let shown = python_repr(text);
        let wrong = || {
            Abort::input(format!("invalid index value: b{shown}")).hint("use integers for indices")
        };
        places.insert(place.ok_or_else(wrong)?);
    }
    let repository = repo.repository()?;
    let lock = repo.lock(ui, LockKind::Store)?;
    let mut transaction = repository.transaction(lock, "debugobsolete")?;
    let count = transaction.remove_markers(&places)?;
    transaction.finish()?;
    ui.write(format!("deleted {count} obsolescence markers\n"))?;
    Ok(0)
}

fn full_node(text: &[u8]) -> Result<Node, Abort> {
    Node::from_hex(text).ok_or_else(|| {
        Abort::input("changeset references must be full hexadecimal node identifiers")
    })
}

/// The number of `--flags`.
fn typed_flags(matches: &Matches) -> Result<u16, Abort> {
    let Some(text) = matches.value("flags") else {
        return Ok(0);
    };
    let number = std::str::from_utf8(text).ok();
    let number = number.and_then(|text| text.parse().ok());
    number.ok_or_else(|| Abort::input("the flags are no number of 16 bits"))
}

fn add(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    named: &[Vec<u8>],
) -> Result<u8, Abort> {
    if !matches.list("rev").is_empty() {
        return Err(Abort::input("cannot select revision when creating marker"));
    }
    let flags = typed_flags(matches)?;
    let user = match matches.value("user") {
        Some(user) => user.to_vec(),
        None => ui.username()?,
    };
    let user = ui.decode(&user)?;
    let nodes = named.iter().map(|text| full_node(text));
    let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
    repo.warn_of_disabled_markers(ui)?;
    let repository = repo.repository()?;
    let lock = repo.lock(ui, LockKind::Store)?;
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let date = metadata::typed_date(matches)?;
    let date = date.map_or_else(|| metadata::default_date(config), Ok)?;
    let old = nodes[0];
    let mut parents = None;
    if matches.flag("record-parents") {
        let Some(rev) = view.changelog().rev(&old) else {
            return Err(Abort::new(
                "cannot used --record-parents on unknown changesets",
            ));
        };
        let of = view.changelog().parents(rev).into_iter().flatten();
        parents = Some(
            of.map(|rev| view.changelog().node(rev))
                .collect::<Vec<Node>>(),
        );
    }
    if nodes[1..].contains(&old) {
        let message = format!("bad obsmarker input: in-marker cycle with {old}");
        return Err(Abort::new(message));
    }
    if !config.evolution()?.markers {
        let message = "creating obsolete markers is not enabled on this repo";
        return Err(Abort::new(message));
    }
    let facts: &[(&[u8], &[u8])] = &[(b"user", &user)];
    let marker = NewMarker {
        old,
        successors: &nodes[1..],
        parents: parents.as_deref(),
        flags,
        date,
        metadata: facts,
    };
    let (unstable, obsolete) = (view.instabilities()?, view.obsolete()?);
    if view
        .listed_markers(None)?
        .iter()
        .any(|(_, known)| is_same(known, &marker))
    {
        return Ok(0);
    }
    let mut transaction = repository.transaction(lock, "debugobsolete")?;
    tell_of_abort(ui, transaction.add_markers(&[marker]))?;
    transaction.finish()?;
    repo.refresh();
    ui.status("1 new obsolescence markers\n")?;
    let after = repository.view_for(ViewFilter::Unfiltered)?.obsolete()?;
    let more = after.difference(&obsolete).count();
    if more > 0 {
        ui.status(format!("obsoleted {more} changesets\n"))?;
    }
    instabilities::report(ui, &repository, &unstable)?;
    Ok(0)
}

/// Says that a transaction was given up, if it was.
fn tell_of_abort(ui: &mut Ui, added: Result<(), RepoError>) -> Result<(), Abort> {
    if added.is_err() {
        ui.warn_of_rollback()?;
    }
    Ok(added?)
}

/// Whether a marker is there already.
fn is_same(known: &ListedMarker, new: &NewMarker<'_>) -> bool {
    let mut metadata = known
        .metadata
        .iter()
        .map(|(key, value)| (&key[..], &value[..]));
    (known.old, &known.successors[..], known.flags) == (new.old, new.successors, new.flags)
        && known.parents.as_deref() == new.parents
        && (known.date.time, known.date.zone) == new.date
        && metadata.by_ref().eq(new.metadata.iter().copied())
}

fn list(repo: &mut Repo, ui: &mut Ui, config: &Config, matches: &Matches) -> Result<u8, Abort> {
    let view = repo.repository()?.view_for(ViewFilter::Unfiltered)?;
    let specs = matches.list("rev");
    let nodes = match specs.is_empty() {
        true => None,
        false => {
            let revs = repo.revisions(ui, &specs)?.into_iter();
            Some(
                revs.map(|rev| view.changelog().node(rev))
                    .collect::<Vec<_>>(),
            )
        }
    };
    let mut markers = view.listed_markers(nodes.as_deref())?;
    if nodes.is_some() {
        markers.sort_by(|(_, a), (_, b)| (a.old, &a.successors).cmp(&(b.old, &b.successors)));
    }
    let mut out = Formatter::new(ui, config, matches, "debugobsolete")?;
    for (place, marker) in markers {
        out.item(ui)?;
        if matches.flag("index") {
            out.field(ui, "index", place as i64, format!("{place} "))?;
        }
        print(ui, &mut out, &marker)?;
    }
    out.end(ui)?;
    Ok(0)
}

fn print(ui: &mut Ui, out: &mut Formatter, marker: &ListedMarker) -> Result<(), Abort> {
    out.field(ui, "prednode", marker.old, marker.old.to_string())?;
    let successors: Vec<String> = marker.successors.iter().map(Node::to_string).collect();
    if !successors.is_empty() {
        out.plain(ui, format!(" {}", successors.join(" ")))?;
    }
    out.data("succnodes", marker.successors.clone());
    out.field(
        ui,
        "flag",
        i64::from(marker.flags),
        format!(" {:X}", marker.flags),
    )?;
    if let Some(parents) = &marker.parents {
        let shown: Vec<String> = parents.iter().map(Node::to_string).collect();
        out.plain(ui, format!(" {{{}}}", shown.join(", ")))?;
        out.data("parentnodes", parents.clone());
    }
    let date = Value::Date(marker.date.time, marker.date.zone);
    out.field(
        ui,
        "date",
        date,
        format!(" ({})", marker.date.default_format()),
    )?;
    let pair =
        |(key, value): &(Vec<u8>, Vec<u8>)| format!("{}: {}", python_repr(key), python_repr(value));
    let shown: Vec<String> = marker.metadata.iter().map(pair).collect();
    let metadata = marker.metadata.iter().map(|(key, value)| Row {
        name: key.clone(),
        shown: format!("{}: {}", python_repr(key), python_repr(value)).into_bytes(),
        value: Value::from(value),
        parts: vec![
            (b"key".to_vec(), Value::from(key)),
            (b"value".to_vec(), Value::from(value)),
        ],
    });
    let metadata = Value::Table(metadata.collect(), ", ");
    out.field(
        ui,
        "metadata",
        metadata,
        format!(" {{{}}}", shown.join(", ")),
    )?;
    out.plain(ui, "\n")
}

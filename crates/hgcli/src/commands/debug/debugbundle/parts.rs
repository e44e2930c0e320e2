//! The parts of a bundle of the second version.

use super::list as list_changes;
use crate::arguments::Matches;
use crate::context::Context;
use crate::ui::{Abort, Ui};
use std::io::Read;
use varve_exchange::ExchangeError;
use varve_exchange::format::bundle20::{PartPayload, PartReader};
use varve_exchange::format::changegroup::{ChangegroupReader, ChangegroupVersion};
use varve_exchange::format::part::Part;
use varve_repo::{Node, Phase, format_markers};

/// Longest payload that is taken apart, besides changegroups.
const LONGEST: u64 = 256 << 20;
/// Bytes of the record of a phase: its number and a changeset.
const PHASE_RECORD: usize = 24;
const INDENT: &str = "    ";

/// Lists the parts, with the contents of the known ones.
pub(super) fn list(
    context: &mut Context,
    matches: &Matches,
    mut parts: PartReader<'_>,
) -> Result<(), Abort> {
    let parameters = parts.parameters().iter();
    let parameters = parameters.map(|it| (it.name.clone(), it.value.clone().unwrap_or_default()));
    let line = [b"Stream params: ", &braced(parameters.collect())[..], b"\n"].concat();
    context.ui.write(line)?;
    let wanted = matches.list("part-type");
    while let Some(part) = parts.next_part()? {
        let kind = part.header.kind();
        if !wanted.is_empty() && !wanted.contains(&&kind[..]) {
            continue;
        }
        let header = &part.header;
        let all = header.mandatory.iter().chain(&header.advisory);
        let parameters = braced(all.cloned().collect());
        let mandatory = if header.is_mandatory() {
            "True"
        } else {
            "False"
        };
        let mandatory = format!(" (mandatory: {mandatory})\n");
        context
            .ui
            .write([&kind[..], b" -- ", &parameters, mandatory.as_bytes()].concat())?;
        if !context.ui.verbosity.quiet {
            inside(context, matches, &kind, part)?;
        }
    }
    Ok(())
}

/// Names and values, sorted, between braces.
fn braced(mut parameters: Vec<(Vec<u8>, Vec<u8>)>) -> Vec<u8> {
    parameters.sort();
    let pairs = parameters
        .iter()
        .map(|(name, value)| [&name[..], b": ", value].concat());
    let pairs: Vec<Vec<u8>> = pairs.collect();
    [b"{", &pairs.join(&b", "[..])[..], b"}"].concat()
}

fn inside(
    context: &mut Context,
    matches: &Matches,
    kind: &[u8],
    part: Part<PartPayload<'_, '_>>,
) -> Result<(), Abort> {
    let Part { header, payload } = part;
    match kind {
        b"changegroup" => {
            let version = header.value("version").unwrap_or(b"01");
            let version = ChangegroupVersion::named(&String::from_utf8_lossy(version))?;
            let mut changes = ChangegroupReader::new(payload, version);
            list_changes(context, &mut changes, INDENT, matches.flag("all"))
        }
        b"obsmarkers" => markers(&mut context.ui, &whole(payload)?),
        b"phase-heads" => phases(&mut context.ui, &whole(payload)?),
        _ => Ok(()),
    }
}

fn whole(payload: impl Read) -> Result<Vec<u8>, Abort> {
    let mut bytes = Vec::new();
    let read = payload.take(LONGEST + 1).read_to_end(&mut bytes);
    match read {
        Ok(_) if bytes.len() as u64 > LONGEST => {
            Err(damaged(format!("a part has more than {LONGEST} bytes")))
        }
        Ok(_) => Ok(bytes),
        Err(error) => Err(match error.downcast::<ExchangeError>() {
            Ok(error) => error.into(),
            Err(error) => Abort::new(format!("cannot read the bundle: {error}")),
        }),
    }
}

fn damaged(reason: String) -> Abort {
    ExchangeError::DamagedBundle(reason).into()
}

fn markers(ui: &mut Ui, bytes: &[u8]) -> Result<(), Abort> {
    let shown = format_markers(bytes);
    let (version, lines) =
        shown.map_err(|(number, reason)| damaged(format!("marker {number}: {reason}")))?;
    let len = bytes.len();
    let Some(lines) = lines else {
        let words = format!("{INDENT}unsupported version: {version} ({len} bytes)\n");
        return ui.write(words);
    };
    ui.write(format!("{INDENT}version: {version} ({len} bytes)\n"))?;
    for line in lines {
        ui.write(format!("{INDENT}{line}\n"))?;
    }
    Ok(())
}

fn phases(ui: &mut Ui, bytes: &[u8]) -> Result<(), Abort> {
    const KNOWN: [Phase; 3] = [Phase::Public, Phase::Draft, Phase::Secret];
    let mut records = Vec::new();
    for record in bytes.chunks(PHASE_RECORD) {
        let (number, node) = record.split_first_chunk::<4>().unwrap_or((&[0xff; 4], &[]));
        let number = u32::from_be_bytes(*number);
        let phase = KNOWN
            .iter()
            .find(|phase| u32::from(phase.number()) == number);
        match (phase, node.first_chunk::<{ Node::LEN }>()) {
            (Some(phase), Some(node)) => records.push((phase, Node(*node))),
            _ => return Err(damaged("the part phase-heads makes no sense".to_owned())),
        }
    }
    for wanted in KNOWN {
        for (phase, node) in records.iter().filter(|(phase, _)| **phase == wanted) {
            ui.write(format!("{INDENT}{node} {}\n", phase.name()))?;
        }
    }
    Ok(())
}

//! The parts of a bundle of the second version.

use super::list as list_changes;
use crate::arguments::Matches;
use crate::ui::{Abort, Ui};
use varve_exchange::ExchangeError;
use varve_exchange::format::bundle20::{PartPayload, PartReader};
use varve_exchange::format::changegroup::{ChangegroupReader, ChangegroupVersion};
use varve_exchange::format::part::{Part, PartType, phase_heads, read_whole};
use varve_repo::format_markers;

const INDENT: &str = "    ";

/// Lists the parts, with the contents of the known ones.
pub(super) fn list(ui: &mut Ui, matches: &Matches, mut parts: PartReader<'_>) -> Result<(), Abort> {
    let parameters = parts.parameters().iter();
    let parameters = parameters.map(|it| (it.name.clone(), it.value.clone().unwrap_or_default()));
    let line = [b"Stream params: ", &braced(parameters.collect())[..], b"\n"].concat();
    ui.write(line)?;
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
        ui.write([&kind[..], b" -- ", &parameters, mandatory.as_bytes()].concat())?;
        if !ui.verbosity.quiet {
            inside(ui, matches, part)?;
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

fn inside(ui: &mut Ui, matches: &Matches, part: Part<PartPayload<'_, '_>>) -> Result<(), Abort> {
    let Part {
        header,
        mut payload,
    } = part;
    match header.part_type() {
        Some(PartType::Changegroup) => {
            let version = header.value("version").unwrap_or(b"01");
            let version = ChangegroupVersion::named(&String::from_utf8_lossy(version))?;
            let mut changes = ChangegroupReader::new(payload, version);
            list_changes(ui, &mut changes, INDENT, matches.flag("all"))
        }
        Some(PartType::Obsmarkers) => markers(ui, &read_whole(&mut payload)?),
        Some(PartType::PhaseHeads) => phases(ui, &read_whole(&mut payload)?),
        _ => Ok(()),
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
    for (phase, nodes) in phase_heads::decode(bytes)? {
        for node in nodes {
            ui.write(format!("{INDENT}{node} {}\n", phase.name()))?;
        }
    }
    Ok(())
}

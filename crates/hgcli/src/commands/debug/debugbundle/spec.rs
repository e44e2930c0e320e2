//! The bundlespec that makes bundles like a given one.

use crate::ui::Abort;
use std::fmt::Write;
use varve_exchange::format::bundle::Bundle;
use varve_exchange::format::bundle20::PartReader;
use varve_exchange::format::part::PartHeader;

/// The bundlespec; `engine` is the compression of a bundle of the first version.
pub(super) fn of(bundle: Bundle<'_>, engine: Option<&[u8]>) -> Result<String, Abort> {
    match bundle {
        Bundle::Bundle10(_) => Ok(format!("{}-v1", name_of(engine.unwrap_or(b"UN")))),
        Bundle::Packed(packed) => {
            let text = String::from_utf8_lossy(&packed.requirements).into_owned();
            Ok(format!("none-packed1;{}", requirements(&text)))
        }
        Bundle::Bundle20(parts) => of_parts(parts),
    }
}

fn name_of(engine: &[u8]) -> &'static str {
    match engine {
        b"GZ" => "gzip",
        b"BZ" => "bzip2",
        b"ZS" => "zstd",
        _ => "none",
    }
}

/// A list between commas as one parameter, whose `=` is escaped too.
fn requirements(list: &str) -> String {
    format!("requirements%3D{}", list.replace(',', "%2C"))
}

fn of_parts(mut parts: PartReader<'_>) -> Result<String, Abort> {
    let compression = parts
        .parameters()
        .iter()
        .find(|parameter| parameter.name.eq_ignore_ascii_case(b"Compression"));
    let engine = compression.and_then(|parameter| parameter.value.clone());
    let mut spec = format!("{}-v2", name_of(engine.as_deref().unwrap_or(b"UN")));
    let (mut has_changes, mut rest) = (false, String::new());
    while let Some(part) = parts.next_part()? {
        let header = &part.header;
        match &header.kind()[..] {
            b"changegroup" => {
                has_changes = true;
                changegroup(header, &mut spec)?;
            }
            b"stream2" => {
                let list = header.value("requirements").unwrap_or_default();
                let list = String::from_utf8_lossy(list);
                return Ok(format!("none-v2;stream=v2;{}", requirements(&list)));
            }
            b"obsmarkers" => {
                rest.push_str(";obsolescence=yes");
                if !header.is_mandatory() {
                    rest.push_str(";obsolescence-mandatory=no");
                }
            }
            _ => {}
        }
    }
    if !has_changes {
        spec.push_str(";changegroup=no");
    }
    Ok(spec + &rest)
}

fn changegroup(header: &PartHeader, spec: &mut String) -> Result<(), Abort> {
    let version = header.value("version").unwrap_or(b"01");
    let version = String::from_utf8_lossy(version);
    match &*version {
        "01" | "02" => Ok(()),
        "03" => {
            let _ = write!(spec, ";cg.version={version}");
            Ok(())
        }
        other => Err(Abort::input(format!(
            "changegroup version {other} does not have a known bundlespec"
        ))),
    }
}

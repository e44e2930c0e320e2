//! Both engines in a few words: ranges over levels, default against default, slowest zstd against fastest zlib.

use super::EngineRow;
use crate::report::{Cell, Column, ColumnUnit, ResultTable};
use varve_codec::{CodecId, EngineSetting};

/// A name with its unit, and how a row has it.
type Quantity = (&'static str, ColumnUnit, fn(&EngineRow) -> f64);

/// The table; `None` unless both engines were measured.
pub(super) fn table(rows: &[EngineRow]) -> Option<ResultTable> {
    let quantities: [Quantity; 4] = [
        ("store size", ColumnUnit::Bytes, |row| {
            row.packed.store() as f64
        }),
        ("00manifest size", ColumnUnit::Bytes, |row| {
            row.packed.manifest() as f64
        }),
        ("read", ColumnUnit::Seconds, |row| row.whole_read().median()),
        ("write", ColumnUnit::Seconds, |row| row.write.median()),
    ];
    let mut lines = Vec::new();
    for (name, unit, value) in quantities {
        let range = |codec: CodecId| {
            let of_codec = rows
                .iter()
                .filter(|row| row.packed.setting.codec() == codec);
            let values: Vec<f64> = of_codec.map(value).collect();
            let low = values.iter().copied().reduce(f64::min)?;
            Some((low, values.iter().copied().fold(low, f64::max)))
        };
        let (zlib, zstd) = (range(CodecId::Zlib)?, range(CodecId::Zstd)?);
        let default = |setting: EngineSetting| {
            let found = rows.iter().find(|row| row.packed.setting == setting);
            found.map(value)
        };
        let defaults = default(EngineSetting::ZSTD).zip(default(EngineSetting::ZLIB));
        let words =
            |(low, high): (f64, f64)| format!("{} to {}", unit.format(low), unit.format(high));
        let ratio = |(above, below): (f64, f64)| match below > 0.0 {
            true => Cell::Number(above / below),
            false => Cell::Empty,
        };
        let name = match unit.abbreviation() {
            Some(unit) => format!("{name} ({unit})"),
            None => name.to_owned(),
        };
        lines.push(vec![
            Cell::text(name),
            Cell::text(words(zlib)),
            Cell::text(words(zstd)),
            defaults.map_or(Cell::Empty, ratio),
            ratio((zstd.1, zlib.0)),
        ]);
    }
    let column = |name, heading, unit| Column::new(name, heading, unit);
    Some(ResultTable {
        name: "summary",
        title: "Summary; ratios are zstd to zlib, so that less than 1 is zstd's gain.".to_owned(),
        columns: vec![
            column("quantity", "quantity", ColumnUnit::Text),
            column("zlib", "zlib range", ColumnUnit::Text),
            column("zstd", "zstd range", ColumnUnit::Text),
            column("defaults", "default to default", ColumnUnit::Ratio),
            column(
                "worst_to_best",
                "slowest zstd to fastest zlib",
                ColumnUnit::Ratio,
            ),
        ],
        rows: lines,
    })
}

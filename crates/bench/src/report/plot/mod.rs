//! Charts as SVG. Colours are CSS custom properties of the page around, so that light and dark need no second drawing.

mod bars;
mod labels;
mod palette;
mod ratios;
mod scatter;

use super::{Chart, ColumnUnit};
use crate::BenchError;
use palette::Palette;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Pixels.
const WIDTH: u32 = 760;
const HEIGHT: u32 = 440;
/// The size of `plotters`, which writes 1/1.24 of it as `font-size`.
const FONT_SIZE: f64 = 16.0;
/// Mean width of a character of a sans-serif font by its `font-size`, on the safe side.
const CHARACTER: f64 = 0.56;

type Area<'s> = DrawingArea<SVGBackend<'s>, plotters::coord::Shift>;

/// One SVG element.
pub(super) fn svg(chart: &Chart) -> Result<String, BenchError> {
    let mut text = String::new();
    let height = match chart {
        Chart::Bars(bars) => bars::height(bars),
        Chart::Ratios(chart) => ratios::height(chart),
        Chart::Scatter(_) | Chart::Lines(_) | Chart::Histogram(_) => HEIGHT,
    };
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        let drawn = match chart {
            Chart::Scatter(scatter) => scatter::draw(scatter, &area),
            Chart::Lines(lines) => scatter::draw_lines(lines, &area),
            Chart::Bars(bars) => bars::draw(bars, &area),
            Chart::Histogram(histogram) => bars::draw_histogram(histogram, &area),
            Chart::Ratios(chart) => ratios::draw(chart, &area),
        };
        let drawn = drawn.and_then(|()| area.present());
        drawn.map_err(|error| BenchError::Plot {
            reason: error.to_string(),
        })?;
    }
    Ok(palette::with_properties(&text))
}

/// A line without axes, as high as a line of text: values at equal distances, the last one marked.
///
/// # Errors
/// [`BenchError::Plot`].
pub(crate) fn sparkline(values: &[f64]) -> Result<String, BenchError> {
    const SIZE: (i32, i32) = (110, 24);
    const EDGE: i32 = 5;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let step = f64::from(SIZE.0 - 2 * EDGE) / (values.len().max(2) - 1) as f64;
    let place = |(index, value): (usize, &f64)| {
        let part = match most > least {
            true => (value - least) / (most - least),
            false => 0.5,
        };
        let up = (part * f64::from(SIZE.1 - 2 * EDGE)).round() as i32;
        (
            EDGE + (step * index as f64).round() as i32,
            SIZE.1 - EDGE - up,
        )
    };
    let points: Vec<(i32, i32)> = values.iter().enumerate().map(place).collect();
    let mut text = String::new();
    {
        let size = (SIZE.0 as u32, SIZE.1 as u32);
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        let stroke = Palette::series(0).stroke_width(2);
        let drawn = area.draw(&PathElement::new(points.clone(), stroke));
        let marked = drawn.and_then(|()| match points.last() {
            Some(last) => area.draw(&Circle::new(*last, 3, Palette::series(0).filled())),
            None => Ok(()),
        });
        let drawn = marked.and_then(|()| area.present());
        drawn.map_err(|error| BenchError::Plot {
            reason: error.to_string(),
        })?;
    }
    Ok(palette::with_properties(&text))
}

/// Outcome of a drawing call; the backend for a string has no failures of its own.
type Drawn = Result<(), DrawingAreaErrorKind<<SVGBackend<'static> as DrawingBackend>::ErrorType>>;

fn style(color: RGBColor, h: HPos, v: VPos) -> TextStyle<'static> {
    let font = ("sans-serif", FONT_SIZE).into_font();
    font.color(&color).pos(Pos::new(h, v))
}

/// Pixels that a text takes in width.
fn text_width(text: &str) -> i32 {
    (text.chars().count() as f64 * FONT_SIZE / 1.24 * CHARACTER).ceil() as i32
}

/// Names of the series with their marks, in one row from the left edge of the plot.
fn draw_legend(area: &Area<'_>, names: &[String], left: i32, mark: MarkDrawer) -> Drawn {
    const ROW: i32 = 14;
    let mut x = left;
    for (series, name) in names.iter().enumerate() {
        mark(area, (x + 6, ROW), series)?;
        let text = style(Palette::INK, HPos::Left, VPos::Center);
        area.draw(&Text::new(name.clone(), (x + 16, ROW), text))?;
        x += 16 + text_width(name) + 22;
    }
    Ok(())
}

/// Draws the mark of a series around a point.
type MarkDrawer = fn(&Area<'_>, (i32, i32), usize) -> Drawn;

/// The mark of a series: colour and shape both tell it apart.
fn draw_mark(area: &Area<'_>, (x, y): (i32, i32), series: usize) -> Drawn {
    const RADIUS: i32 = 5;
    let fill = Palette::series(series).filled();
    match series % 4 {
        0 => area.draw(&Circle::new((x, y), RADIUS, fill)),
        1 => area.draw(&Rectangle::new(
            [(x - RADIUS, y - RADIUS), (x + RADIUS, y + RADIUS)],
            fill,
        )),
        2 => area.draw(&TriangleMarker::new((x, y + 1), RADIUS + 2, fill)),
        _ => area.draw(&Polygon::new(
            vec![(x, y - 7), (x + 7, y), (x, y + 7), (x - 7, y)],
            fill,
        )),
    }
}

/// A number at an axis, as short as it can be said.
fn tick(unit: ColumnUnit, number: f64) -> String {
    match unit {
        ColumnUnit::Bytes => bytes(number),
        ColumnUnit::Seconds if number.abs() < 1e-3 && number != 0.0 => {
            format!("{} µs", short(number * 1e6))
        }
        ColumnUnit::Seconds if number.abs() < 1.0 && number != 0.0 => {
            format!("{} ms", short(number * 1e3))
        }
        ColumnUnit::Seconds => format!("{} s", short(number)),
        _ => short(number),
    }
}

/// At most three significant digits.
fn short(number: f64) -> String {
    let digits = match number.abs() {
        n if n >= 100.0 || n == 0.0 => 0,
        n if n >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{number:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn bytes(number: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut rest, mut unit) = (number, 0);
    while rest.abs() >= 1024.0 && unit + 1 < units.len() {
        rest /= 1024.0;
        unit += 1;
    }
    format!("{} {}", short(rest), units[unit])
}

/// The next round number above.
fn round_step(least: f64, unit: ColumnUnit) -> f64 {
    if unit == ColumnUnit::Bytes && least > 1.0 {
        return 2f64.powf(least.log2().ceil());
    }
    let power = 10f64.powf(least.log10().floor());
    let found = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    found
        .into_iter()
        .find(|step| *step >= least)
        .unwrap_or(least)
}

#[cfg(test)]
mod tests;

//! Ratios as marks with their ranges, one row for each kind of work.

use super::palette::Palette;
use super::{Area, Drawn, draw_legend, draw_mark, short, style, text_width};
use crate::report::RatioChart;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// Pixels.
const ROW: i32 = 24;
const TOP: i32 = 40;
const BOTTOM: i32 = 56;
const RIGHT: i32 = 60;
/// Half of the distance between two marks of a row.
const STEP: i32 = 8;

/// Pixels that all rows need.
pub(super) fn height(chart: &RatioChart) -> u32 {
    (TOP + BOTTOM + row_height(chart) * chart.rows.len() as i32) as u32
}

fn row_height(chart: &RatioChart) -> i32 {
    let most = chart.rows.iter().map(|row| row.marks.len()).max();
    ROW + STEP * (most.unwrap_or(1) as i32 - 1).max(0)
}

/// The axis: pixels of a ratio.
struct Axis {
    left: i32,
    right: i32,
    low: f64,
    high: f64,
}

impl Axis {
    /// Has 1 inside, and room around all ranges.
    fn new(chart: &RatioChart, left: i32, right: i32) -> Axis {
        let marks = || chart.rows.iter().flat_map(|row| &row.marks);
        let low = marks().map(|mark| mark.low).fold(1.0, f64::min);
        let high = marks().map(|mark| mark.high).fold(1.0, f64::max);
        let (low, high) = (low.max(1e-4).log10(), high.max(1e-4).log10());
        let margin = ((high - low) * 0.04).max(0.03);
        Axis {
            left,
            right,
            low: low - margin,
            high: high + margin,
        }
    }

    fn pixel(&self, ratio: f64) -> i32 {
        let part = (ratio.max(1e-4).log10() - self.low) / (self.high - self.low);
        self.left + (part * f64::from(self.right - self.left)).round() as i32
    }

    /// Round ratios: 1, 2 and 5 times powers of ten.
    fn ticks(&self) -> impl Iterator<Item = f64> + '_ {
        let powers = self.low.floor() as i32..=self.high.ceil() as i32;
        let all = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * 10f64.powi(power)));
        all.filter(|ratio| (self.low..=self.high).contains(&ratio.log10()))
    }
}

pub(super) fn draw(chart: &RatioChart, area: &Area<'_>) -> Drawn {
    let labels = chart.rows.iter().map(|row| text_width(&row.label));
    let left = labels.max().unwrap_or(0) + 18;
    let (width, height) = area.dim_in_pixel();
    let (right, bottom) = (width as i32 - RIGHT, height as i32 - BOTTOM);
    let axis = Axis::new(chart, left, right);
    draw_grid(&axis, area, bottom)?;
    for (number, row) in chart.rows.iter().enumerate() {
        let middle = TOP + row_height(chart) * number as i32 + row_height(chart) / 2;
        let text = style(Palette::INK, HPos::Right, VPos::Center);
        area.draw(&Text::new(row.label.clone(), (left - 8, middle), text))?;
        let first = middle - STEP * (row.marks.len() as i32 - 1).max(0);
        for (place, mark) in row.marks.iter().enumerate() {
            let y = first + 2 * STEP * place as i32;
            let color = Palette::series(mark.series);
            let range = vec![(axis.pixel(mark.low), y), (axis.pixel(mark.high), y)];
            area.draw(&PathElement::new(range, color.stroke_width(2)))?;
            draw_mark(area, (axis.pixel(mark.median), y), mark.series)?;
            let text = style(Palette::INK, HPos::Left, VPos::Center);
            let beside = axis.pixel(mark.high).max(axis.pixel(mark.median) + 6) + 5;
            area.draw(&Text::new(
                format!("{} ×", short(mark.median)),
                (beside, y),
                text,
            ))?;
        }
    }
    draw_legend(area, &chart.series, left, draw_mark)?;
    let text = style(Palette::INK, HPos::Center, VPos::Bottom);
    let below = ((left + right) / 2, height as i32 - 6);
    area.draw(&Text::new(chart.label.clone(), below, text))
}

/// Lines at round ratios, a strong one at 1, and their numbers where there is room.
fn draw_grid(axis: &Axis, area: &Area<'_>, bottom: i32) -> Drawn {
    let mut free_from = i32::MIN;
    for ratio in axis.ticks() {
        let at = axis.pixel(ratio);
        let line = match ratio == 1.0 {
            true => Palette::INK.stroke_width(2),
            false => Palette::GRID.stroke_width(1),
        };
        area.draw(&PathElement::new(vec![(at, TOP - 8), (at, bottom)], line))?;
        let label = short(ratio);
        let half = text_width(&label) / 2 + 4;
        if at - half < free_from {
            continue;
        }
        free_from = at + half;
        let text = style(Palette::INK, HPos::Center, VPos::Top);
        area.draw(&Text::new(label, (at, bottom + 6), text))?;
    }
    Ok(())
}

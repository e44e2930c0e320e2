//! Stacked bars, and histograms.

use super::palette::Palette;
use super::{Area, Drawn, bytes, draw_legend, round_step, style, text_width, tick};
use crate::report::{BarChart, Histogram};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// Pixels.
const ROW: i32 = 26;
const THICKNESS: i32 = 16;
const TOP: i32 = 34;
const BOTTOM: i32 = 56;
const RIGHT: i32 = 76;

/// Pixels that all bars need.
pub(super) fn height(chart: &BarChart) -> u32 {
    (TOP + BOTTOM + ROW * chart.bars.len() as i32) as u32
}

pub(super) fn draw(chart: &BarChart, area: &Area<'_>) -> Drawn {
    let labels = chart.bars.iter().map(|bar| text_width(&bar.label));
    let left = labels.max().unwrap_or(0) + 18;
    let (width, height) = area.dim_in_pixel();
    let (right, bottom) = (width as i32 - RIGHT, height as i32 - BOTTOM);
    let length = |bar: &crate::report::Bar| bar.parts.iter().sum::<f64>();
    let longest = chart
        .bars
        .iter()
        .map(length)
        .fold(f64::MIN_POSITIVE, f64::max);
    let pixel = |value: f64| left + (value / longest * f64::from(right - left)).round() as i32;
    let step = round_step(longest / 5.0, chart.axis.unit);
    for number in 0..=(longest / step).floor() as u32 {
        let value = step * f64::from(number);
        let at = pixel(value);
        let line = vec![(at, TOP), (at, bottom)];
        area.draw(&PathElement::new(line, Palette::GRID.stroke_width(1)))?;
        let text = style(Palette::INK, HPos::Center, VPos::Top);
        area.draw(&Text::new(
            tick(chart.axis.unit, value),
            (at, bottom + 6),
            text,
        ))?;
    }
    for (row, bar) in chart.bars.iter().enumerate() {
        let middle = TOP + ROW * row as i32 + ROW / 2;
        let text = style(Palette::INK, HPos::Right, VPos::Center);
        area.draw(&Text::new(bar.label.clone(), (left - 8, middle), text))?;
        let mut before = 0.0;
        for (part, value) in bar.parts.iter().enumerate() {
            let corners = [
                (pixel(before), middle - THICKNESS / 2),
                (pixel(before + value), middle + THICKNESS / 2),
            ];
            area.draw(&Rectangle::new(corners, Palette::series(part).filled()))?;
            before += value;
        }
        let text = style(Palette::INK, HPos::Left, VPos::Center);
        let sum = tick(chart.axis.unit, before);
        area.draw(&Text::new(sum, (pixel(before) + 6, middle), text))?;
    }
    draw_legend(area, &chart.parts, left, draw_swatch)?;
    let text = style(Palette::INK, HPos::Center, VPos::Bottom);
    let below = ((left + right) / 2, height as i32 - 6);
    area.draw(&Text::new(chart.axis.label.clone(), below, text))
}

/// The mark of a part: a square of its colour.
fn draw_swatch(area: &Area<'_>, (x, y): (i32, i32), part: usize) -> Drawn {
    let corners = [(x - 6, y - 6), (x + 6, y + 6)];
    area.draw(&Rectangle::new(corners, Palette::series(part).filled()))
}

pub(super) fn draw_histogram(chart: &Histogram, area: &Area<'_>) -> Drawn {
    let (width, height) = area.dim_in_pixel();
    let (left, right, bottom) = (84, width as i32 - 24, height as i32 - BOTTOM);
    let most = chart.classes.iter().copied().max().unwrap_or(0).max(1) as f64;
    let first = chart
        .classes
        .iter()
        .position(|count| *count > 0)
        .unwrap_or(0);
    let shown = chart.classes.len().saturating_sub(first).max(1);
    let step = f64::from(right - left) / shown as f64;
    let pixel = |count: f64| bottom - (count / most * f64::from(bottom - TOP)).round() as i32;
    let step_of_counts = round_step((most / 5.0).max(1.0), crate::report::ColumnUnit::Count);
    for number in 0..=(most / step_of_counts).floor() as u32 {
        let count = step_of_counts * f64::from(number);
        let at = pixel(count);
        let line = vec![(left, at), (right, at)];
        area.draw(&PathElement::new(line, Palette::GRID.stroke_width(1)))?;
        let text = style(Palette::INK, HPos::Right, VPos::Center);
        area.draw(&Text::new(format!("{count:.0}"), (left - 8, at), text))?;
    }
    let mut free_from = i32::MIN;
    for (index, count) in chart.classes.iter().enumerate().skip(first) {
        let start = left + (step * (index - first) as f64).round() as i32;
        let end = left + (step * (index - first + 1) as f64).round() as i32;
        let corners = [(start + 2, pixel(*count as f64)), (end - 2, bottom)];
        area.draw(&Rectangle::new(corners, Palette::series(0).filled()))?;
        let label = bytes(2f64.powi(index as i32));
        let half = text_width(&label) / 2 + 3;
        if start - half < free_from {
            continue;
        }
        free_from = start + half;
        let text = style(Palette::INK, HPos::Center, VPos::Top);
        area.draw(&Text::new(label, (start.max(half), bottom + 6), text))?;
    }
    // One class alone would not say how wide it is.
    let label = bytes(2f64.powi(chart.classes.len() as i32));
    if !chart.classes.is_empty() && right - text_width(&label) - 3 >= free_from {
        let text = style(Palette::INK, HPos::Right, VPos::Top);
        area.draw(&Text::new(label, (right, bottom + 6), text))?;
    }
    let text = style(Palette::INK, HPos::Center, VPos::Bottom);
    let below = ((left + right) / 2, height as i32 - 6);
    area.draw(&Text::new(chart.label.clone(), below, text))?;
    let text = style(Palette::INK, HPos::Center, VPos::Top);
    let text = text.transform(FontTransform::Rotate270);
    area.draw(&Text::new(
        "number".to_owned(),
        (4, (TOP + bottom) / 2),
        text,
    ))
}

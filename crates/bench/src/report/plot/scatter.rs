//! Points in a plane, with the frontier of those that nothing beats.

use super::labels::{Bounds, place};
use super::palette::Palette;
use super::{Area, Drawn, draw_legend, draw_mark, round_step, style, text_width, tick};
use crate::report::{Axis, LineChart, ScatterChart};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use std::ops::Range;

/// Pixels beside the plot.
const LEFT: i32 = 92;
const RIGHT: i32 = 24;
const TOP: i32 = 34;
const BOTTOM: i32 = 60;

/// One axis in pixels.
struct Scale<'a> {
    axis: &'a Axis,
    range: Range<f64>,
    pixels: Range<i32>,
}

impl<'a> Scale<'a> {
    fn new(axis: &'a Axis, values: impl Iterator<Item = f64>, pixels: Range<i32>) -> Scale<'a> {
        let moved = values.map(|value| moved(axis, value));
        let (low, high) = moved.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let margin = ((high - low) * 0.08).max(high.abs() * 1e-3).max(1e-9);
        let low = match axis.is_logarithmic {
            true => low - margin,
            false => (low - margin).max(0.0),
        };
        Scale {
            axis,
            range: low..high + margin,
            pixels,
        }
    }

    fn pixel(&self, value: f64) -> i32 {
        let Range { start, end } = self.range;
        let part = (moved(self.axis, value) - start) / (end - start);
        let len = f64::from(self.pixels.end - self.pixels.start);
        self.pixels.start + (part * len).round() as i32
    }

    /// Round values inside of the range: 1, 2 and 5 times powers of ten, or of two and 1024 for bytes.
    fn ticks(&self) -> Vec<f64> {
        let back = |value: f64| match self.axis.is_logarithmic {
            true => 10f64.powf(value),
            false => value,
        };
        let (low, high) = (back(self.range.start), back(self.range.end));
        let is_inside = |value: &f64| (low..=high).contains(value);
        if self.axis.is_logarithmic && high / low > 5.0 {
            let first = low.log10().floor() as i32;
            let last = high.log10().ceil() as i32;
            let steps = (first..=last)
                .flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * 10f64.powi(power)));
            let fine: Vec<f64> = steps.filter(is_inside).collect();
            return match fine.len() > 8 {
                true => {
                    let coarse = (first..=last).map(|power| 10f64.powi(power));
                    coarse.filter(is_inside).collect()
                }
                false => fine,
            };
        }
        let step = round_step((high - low) / 5.0, self.axis.unit);
        let first = (low / step).ceil() as i64;
        let last = (high / step).floor() as i64;
        (first..=last).map(|n| n as f64 * step).collect()
    }
}

fn moved(axis: &Axis, value: f64) -> f64 {
    match axis.is_logarithmic {
        true => value.max(1e-12).log10(),
        false => value,
    }
}

/// The plot without its labels.
fn inside(area: &Area<'_>) -> Bounds {
    let (width, height) = area.dim_in_pixel();
    Bounds {
        left: LEFT,
        top: TOP,
        right: width as i32 - RIGHT,
        bottom: height as i32 - BOTTOM,
    }
}

/// Lines with a mark at each point.
pub(super) fn draw_lines(chart: &LineChart, area: &Area<'_>) -> Drawn {
    let inside = inside(area);
    let points = || chart.lines.iter().flat_map(|line| &line.points);
    if points().next().is_none() {
        return Ok(());
    }
    let x = Scale::new(
        &chart.x,
        points().map(|point| point.0),
        inside.left..inside.right,
    );
    let y = Scale::new(
        &chart.y,
        points().map(|point| point.1),
        inside.bottom..inside.top,
    );
    draw_axes(area, (&x, &y), inside)?;
    let names: Vec<String> = chart.lines.iter().map(|line| line.name.clone()).collect();
    draw_legend(area, &names, LEFT, draw_mark)?;
    for (series, line) in chart.lines.iter().enumerate() {
        let pixels = line
            .points
            .iter()
            .map(|point| (x.pixel(point.0), y.pixel(point.1)));
        let pixels: Vec<(i32, i32)> = pixels.collect();
        let stroke = Palette::series(series).stroke_width(2);
        area.draw(&PathElement::new(pixels.clone(), stroke))?;
        for at in pixels {
            draw_mark(area, at, series)?;
        }
    }
    Ok(())
}

pub(super) fn draw(chart: &ScatterChart, area: &Area<'_>) -> Drawn {
    let inside = inside(area);
    let xs = chart.points.iter().map(|point| point.x);
    let ys = chart.points.iter().map(|point| point.y);
    let x = Scale::new(&chart.x, xs, inside.left..inside.right);
    let y = Scale::new(&chart.y, ys, inside.bottom..inside.top);
    draw_axes(area, (&x, &y), inside)?;
    draw_legend(area, &chart.series, LEFT, draw_mark)?;
    let at = |index: usize| {
        let point = &chart.points[index];
        (x.pixel(point.x), y.pixel(point.y))
    };
    let frontier: Vec<(i32, i32)> = chart.frontier().into_iter().map(at).collect();
    area.draw(&PathElement::new(
        frontier,
        Palette::FRONTIER.stroke_width(2),
    ))?;
    let labelled: Vec<((i32, i32), &str)> = chart
        .points
        .iter()
        .enumerate()
        .map(|(index, point)| (at(index), point.label.as_str()))
        .collect();
    for ((at, _), point) in labelled.iter().zip(&chart.points) {
        draw_mark(area, *at, point.series)?;
    }
    for (found, (_, label)) in place(&labelled, inside).iter().zip(&labelled) {
        if let Some(at) = found {
            let text = style(Palette::INK, HPos::Left, VPos::Center);
            area.draw(&Text::new((*label).to_owned(), *at, text))?;
        }
    }
    Ok(())
}

fn draw_axes(area: &Area<'_>, (x, y): (&Scale<'_>, &Scale<'_>), inside: Bounds) -> Drawn {
    let grid = Palette::GRID.stroke_width(1);
    let mut free_from = i32::MIN;
    for value in x.ticks() {
        let at = x.pixel(value);
        area.draw(&PathElement::new(
            vec![(at, inside.top), (at, inside.bottom)],
            grid,
        ))?;
        let label = tick(x.axis.unit, value);
        let half = text_width(&label) / 2 + 4;
        if at - half < free_from {
            continue;
        }
        free_from = at + half;
        let text = style(Palette::INK, HPos::Center, VPos::Top);
        area.draw(&Text::new(label, (at, inside.bottom + 8), text))?;
    }
    for value in y.ticks() {
        let at = y.pixel(value);
        area.draw(&PathElement::new(
            vec![(inside.left, at), (inside.right, at)],
            grid,
        ))?;
        let text = style(Palette::INK, HPos::Right, VPos::Center);
        area.draw(&Text::new(
            tick(y.axis.unit, value),
            (inside.left - 8, at),
            text,
        ))?;
    }
    let corner = (inside.left, inside.bottom);
    let ends = vec![
        (inside.left, inside.top),
        corner,
        (inside.right, inside.bottom),
    ];
    area.draw(&PathElement::new(ends, Palette::INK.stroke_width(1)))?;
    let text = style(Palette::INK, HPos::Center, VPos::Bottom);
    let below = ((inside.left + inside.right) / 2, inside.bottom + BOTTOM - 8);
    area.draw(&Text::new(x.axis.label.clone(), below, text))?;
    let text = style(Palette::INK, HPos::Center, VPos::Top);
    let text = text.transform(FontTransform::Rotate270);
    let beside = (4, (inside.top + inside.bottom) / 2);
    area.draw(&Text::new(y.axis.label.clone(), beside, text))
}

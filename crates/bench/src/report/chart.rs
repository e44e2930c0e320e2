//! Plots as values.

use super::ColumnUnit;

/// An axis with what it shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Quantity along it, with the unit.
    pub label: String,
    /// How its numbers are written.
    pub unit: ColumnUnit,
    /// Equal distances are equal factors.
    pub is_logarithmic: bool,
}

/// A labelled point.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Words beside it.
    pub label: String,
    /// Points of a series have one colour and shape.
    pub series: usize,
    /// Along the horizontal axis.
    pub x: f64,
    /// Along the vertical axis.
    pub y: f64,
}

/// Points of which less is better on both axes, with the frontier of those that nothing beats.
#[derive(Clone, Debug, PartialEq)]
pub struct ScatterChart {
    /// Heading.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Names of the series.
    pub series: Vec<String>,
    /// The points.
    pub points: Vec<Point>,
}

impl ScatterChart {
    /// Indices of the points that no other beats on one axis without losing on the other, from left to right.
    pub fn frontier(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.points.len()).collect();
        let at = |index: usize| (self.points[index].x, self.points[index].y);
        order.sort_by(|a, b| {
            let ((ax, ay), (bx, by)) = (at(*a), at(*b));
            ax.total_cmp(&bx).then(ay.total_cmp(&by))
        });
        let mut least = f64::INFINITY;
        order.retain(|index| {
            let is_better = at(*index).1 < least;
            least = least.min(at(*index).1);
            is_better
        });
        order
    }
}

/// One bar, made of the parts of the chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Words beside it.
    pub label: String,
    /// Lengths of its parts.
    pub parts: Vec<f64>,
}

/// Bars side by side, each a stack of the same parts.
#[derive(Clone, Debug, PartialEq)]
pub struct BarChart {
    /// Heading.
    pub title: String,
    /// The axis along which the bars grow.
    pub axis: Axis,
    /// Names of the parts.
    pub parts: Vec<String>,
    /// The bars from top to bottom.
    pub bars: Vec<Bar>,
}

/// One ratio, with the least and the greatest of its rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioMark {
    /// The series of the mark.
    pub series: usize,
    /// Least of the rounds.
    pub low: f64,
    /// The middle.
    pub median: f64,
    /// Greatest of the rounds.
    pub high: f64,
}

/// One kind of work.
#[derive(Clone, Debug, PartialEq)]
pub struct RatioRow {
    /// Words beside it.
    pub label: String,
    /// At most one a series.
    pub marks: Vec<RatioMark>,
}

/// Ratios by kind of work, on a logarithmic axis with a line at 1.
#[derive(Clone, Debug, PartialEq)]
pub struct RatioChart {
    /// Heading.
    pub title: String,
    /// Label of the axis.
    pub label: String,
    /// Names of the series.
    pub series: Vec<String>,
    /// The rows from top to bottom.
    pub rows: Vec<RatioRow>,
}

/// How many things there are of each size; classes double.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// Heading.
    pub title: String,
    /// Label of the sizes.
    pub label: String,
    /// Entry `n` counts sizes from 2ⁿ up to 2ⁿ⁺¹, the first also 0.
    pub classes: Vec<u64>,
}

impl Histogram {
    /// A histogram without entries.
    pub fn new(title: &str, label: &str) -> Histogram {
        Histogram {
            title: title.to_owned(),
            label: label.to_owned(),
            classes: Vec::new(),
        }
    }

    /// Counts one thing of this size.
    pub fn add(&mut self, size: u64) {
        let class = size.max(1).ilog2() as usize;
        if self.classes.len() <= class {
            self.classes.resize(class + 1, 0);
        }
        self.classes[class] += 1;
    }
}

/// One line of a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Name of the series.
    pub name: String,
    /// From left to right.
    pub points: Vec<(f64, f64)>,
}

/// Lines over a common axis.
#[derive(Clone, Debug, PartialEq)]
pub struct LineChart {
    /// Heading.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The lines.
    pub lines: Vec<Line>,
}

/// One plot.
#[derive(Clone, Debug, PartialEq)]
pub enum Chart {
    /// Points with a frontier.
    Scatter(ScatterChart),
    /// Lines.
    Lines(LineChart),
    /// Stacked bars.
    Bars(BarChart),
    /// Counts by size.
    Histogram(Histogram),
    /// Ratios with their ranges.
    Ratios(RatioChart),
}

impl Chart {
    /// Its heading.
    pub fn title(&self) -> &str {
        match self {
            Chart::Scatter(scatter) => &scatter.title,
            Chart::Lines(lines) => &lines.title,
            Chart::Bars(bars) => &bars.title,
            Chart::Histogram(histogram) => &histogram.title,
            Chart::Ratios(ratios) => &ratios.title,
        }
    }
}

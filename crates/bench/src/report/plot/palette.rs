//! Colours. `plotters` knows numbers only; each number here stands for a custom property of the page.

use plotters::style::RGBColor;

/// The colours of a plot.
pub(super) struct Palette;

/// Number of series with colours of their own.
pub(super) const SERIES: usize = 4;

impl Palette {
    /// Text and axes.
    pub(super) const INK: RGBColor = RGBColor(1, 1, 1);
    /// Grid lines.
    pub(super) const GRID: RGBColor = RGBColor(2, 2, 2);
    /// The frontier.
    pub(super) const FRONTIER: RGBColor = RGBColor(3, 3, 3);

    /// A colour for points and bars; the fifth series has the first colour again.
    pub(super) fn series(number: usize) -> RGBColor {
        let shade = 4 + (number % SERIES) as u8;
        RGBColor(shade, shade, shade)
    }
}

/// The SVG with custom properties in place of the numbers.
pub(super) fn with_properties(svg: &str) -> String {
    let mut named = svg
        .replace("\"#010101\"", "\"var(--ink)\"")
        .replace("\"#020202\"", "\"var(--grid)\"")
        .replace("\"#030303\"", "\"var(--frontier)\"");
    for number in 0..SERIES {
        let shade = 4 + number;
        let color = format!("\"#{shade:02X}{shade:02X}{shade:02X}\"");
        named = named.replace(&color, &format!("\"var(--series-{number})\""));
    }
    named
}

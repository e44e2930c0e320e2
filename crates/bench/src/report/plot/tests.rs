use super::*;
use crate::report::{Axis, Bar, BarChart, Histogram, Point, ScatterChart};

fn axis(label: &str, unit: ColumnUnit, is_logarithmic: bool) -> Axis {
    Axis {
        label: label.to_owned(),
        unit,
        is_logarithmic,
    }
}

fn scatter() -> ScatterChart {
    let points = [(1000.0, 2.0, "a"), (2000.0, 1.0, "b"), (2500.0, 1.5, "<c>")];
    ScatterChart {
        title: "Size".to_owned(),
        x: axis("store size (B)", ColumnUnit::Bytes, false),
        y: axis("read (s)", ColumnUnit::Seconds, true),
        series: vec!["zlib".to_owned(), "zstd".to_owned()],
        points: points
            .map(|(x, y, label)| Point {
                label: label.to_owned(),
                series: usize::from(x > 1500.0),
                x,
                y,
            })
            .to_vec(),
    }
}

#[test]
fn nothing_beats_a_point_of_the_frontier() {
    assert_eq!(scatter().frontier(), [0, 1]);
}

#[test]
fn a_histogram_with_one_class_tells_both_of_its_ends() {
    let mut histogram = Histogram::new("Documents", "bytes of JSON");
    histogram.add(900);
    let svg = svg(&Chart::Histogram(histogram)).unwrap();
    assert!(svg.contains("512 B") && svg.contains("1 KiB"), "{svg}");
}

#[test]
fn a_plot_has_labels_and_no_colours_of_its_own() {
    let mut histogram = Histogram::new("Chunks", "bytes in a chunk");
    [0, 1, 2, 3, 1000]
        .iter()
        .for_each(|size| histogram.add(*size));
    assert_eq!(histogram.classes[..3], [2, 2, 0]);
    let bars = BarChart {
        title: "Stages".to_owned(),
        axis: axis("read (s)", ColumnUnit::Seconds, false),
        parts: vec!["read".to_owned(), "hash".to_owned()],
        bars: vec![Bar {
            label: "zstd_3".to_owned(),
            parts: vec![0.5, 0.25],
        }],
    };
    let expected = [
        (Chart::Scatter(scatter()), "store size (B)"),
        (Chart::Bars(bars), "zstd_3"),
        (Chart::Histogram(histogram), "bytes in a chunk"),
    ];
    for (chart, words) in expected {
        let svg = svg(&chart).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains(words), "{svg}");
        assert!(svg.contains("var(--ink)") && svg.contains("var(--series-0)"));
        assert!(!svg.contains("\"#"), "a fixed colour: {svg}");
        assert!(!svg.contains("<c>"), "unescaped: {svg}");
    }
}

#[test]
fn ticks_are_short() {
    for (unit, number, words) in [
        (ColumnUnit::Bytes, 1536.0, "1.5 KiB"),
        (ColumnUnit::Bytes, 10.0 * 1024.0 * 1024.0, "10 MiB"),
        (ColumnUnit::Seconds, 0.002, "2 ms"),
        (ColumnUnit::Seconds, 0.00005, "50 µs"),
        (ColumnUnit::Seconds, 12.25, "12.2 s"),
        (ColumnUnit::Seconds, 0.0, "0 s"),
        (ColumnUnit::Count, 1234.0, "1234"),
    ] {
        assert_eq!(tick(unit, number), words);
    }
}

use super::*;

fn machine(load_before: f64) -> Machine {
    Machine {
        processor: "A chip".to_owned(),
        cores: 2,
        memory: 1 << 30,
        system: "linux 6".to_owned(),
        load_before,
    }
}

fn report() -> Report {
    let columns = vec![
        Column::new("engine", "engine", ColumnUnit::Text),
        Column::new("store_size", "store size", ColumnUnit::Bytes),
        Column::new("read", "read", ColumnUnit::Seconds),
    ];
    let runs = |runs: [f64; 3]| Cell::measured(Samples::new(runs.to_vec()));
    let rows = vec![
        vec![
            Cell::text("a|b,\"<i>"),
            Cell::count(1000),
            runs([0.5, 0.51, 0.52]),
        ],
        vec![
            Cell::text("zlib"),
            Cell::count(900),
            runs([0.5, 0.52, 0.51]),
        ],
        vec![
            Cell::text("none"),
            Cell::count(2000),
            Cell::measured(Samples::default()),
        ],
        vec![Cell::text("zstd"), Cell::Empty, runs([0.1, 0.11, 0.2])],
    ];
    let mut report = Report::new("bench repo r".to_owned(), machine(1.5), 3);
    report.properties.push(("revisions", "12".to_owned()));
    report.snippets.push(Snippet {
        title: "For <space>:".to_owned(),
        lines: vec!["[storage]".to_owned(), "level = 1".to_owned()],
    });
    report.tables.push(ResultTable {
        name: "engines",
        title: "Engines.".to_owned(),
        columns,
        rows,
    });
    let done = Interleaved {
        is_cut_short: true,
        ..Interleaved::default()
    };
    report.judge(&done, &[]);
    report
}

#[test]
fn a_report_says_what_its_runs_cannot_tell() {
    let notes = report().notes.join("\n");
    assert!(
        notes.contains(
            "read: not told apart from the next by a paired t-test (95 %): a|b,\"<i> ~ zlib."
        ),
        "{notes}"
    );
    assert!(
        notes.contains("Noisy: the runs of zstd lie up to 91 %"),
        "{notes}"
    );
    assert!(
        notes.contains("busy before the runs (load 1.50 on 2 cores)"),
        "{notes}"
    );
    assert!(notes.contains("Interrupted: "), "{notes}");
}

#[test]
fn a_terminal_has_aligned_columns() {
    let text = terminal(&report());
    let expected = "\
Engines.
engine    store size (B)             read (s)
a|b,\"<i>            1000  0.510 (0.500-0.520)
zlib                 900  0.510 (0.500-0.520)
none                2000
zstd                      0.110 (0.100-0.200)
";
    assert!(text.contains(expected), "{text}");
    assert!(text.starts_with(
        "bench repo r\nA chip, 2 cores, 1.0 GiB, linux 6, load 1.50 before the runs\n"
    ));
}

#[test]
fn a_wide_table_is_printed_in_parts_that_name_their_rows() {
    let mut wide = report();
    let table = &mut wide.tables[0];
    for _ in 0..4 {
        let again = table.columns[2].clone();
        table.columns.push(again);
        for row in &mut table.rows {
            row.push(row[2].clone());
        }
    }
    let text = terminal(&wide);
    assert!(
        text.lines()
            .all(|line| line.len() <= 120 || line.contains(": ")),
        "{text}"
    );
    assert_eq!(text.matches("\nzlib ").count(), 2, "{text}");
}

#[test]
fn programs_get_every_run() {
    let value: serde_json::Value = serde_json::from_str(&json(&report())).unwrap();
    let row = &value["tables"]["engines"]["rows"][0];
    assert_eq!(row["store_size"], 1000);
    assert_eq!(row["read"]["median"], 0.51);
    assert_eq!(row["read"]["runs"], serde_json::json!([0.5, 0.51, 0.52]));
    assert_eq!(
        value["tables"]["engines"]["rows"][2]["read"],
        serde_json::Value::Null
    );
    assert_eq!(
        (&value["interrupted"], &value["runs"]),
        (&true.into(), &3.into())
    );
    assert_eq!(
        csv(&report()),
        "engine,store_size,read_median,read_low,read_high\n\"a|b,\"\"<i>\",1000,0.51,0.5,0.52\n\
         zlib,900,0.51,0.5,0.52\nnone,2000,,,\nzstd,,0.11,0.1,0.2\n"
    );
}

#[test]
fn markdown_and_html_escape_names() {
    let text = markdown(&report());
    assert!(
        text.contains("| a\\|b,\"&lt;i> | 1000 | 0.510 (0.500-0.520) |"),
        "{text}"
    );
    assert!(text.contains("| --- | ---: | ---: |"), "{text}");
    let page = html(&report()).unwrap();
    assert!(
        page.contains("<td>a|b,&quot;&lt;i&gt;</td><td class=\"number\">1000</td>"),
        "{page}"
    );
    assert!(
        page.contains("<p>For &lt;space&gt;:</p>\n<pre>[storage]\nlevel = 1</pre>"),
        "{page}"
    );
    assert!(
        text.contains("\n```\n[storage]\nlevel = 1\n```\n"),
        "{text}"
    );
    assert!(terminal(&report()).contains("\nFor <space>:\n[storage]\nlevel = 1\n"));
    assert!(!page.contains("<script") && !page.contains("http://") && !page.contains("https://"));
}

#[test]
fn no_measured_column_no_sentence() {
    let mut plain = report();
    plain.tables[0].rows.clear();
    assert!(plain.tables[0].indistinct_rows().is_empty());
}

#[test]
fn a_joined_report_has_all_parts_and_its_notes_name_them() {
    assert_eq!(Report::joined("all".to_owned(), Vec::new()), None);
    let parts = ["varve bench repo r", "varve bench codec r"].map(|title| Report {
        title: title.to_owned(),
        notes: vec!["Noisy.".to_owned()],
        ..report()
    });
    let whole = Report::joined("all".to_owned(), parts.to_vec()).unwrap();
    assert_eq!(whole.notes, ["repo: Noisy.", "codec: Noisy."]);
    assert_eq!((whole.tables.len(), whole.is_cut_short), (2, true));
}

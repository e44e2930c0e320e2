use super::{Edge, Graph};

/// Draws `key: parent parent` lines; `~` before a parent ends its column.
fn drawn(short: bool, things: &[(&str, &str)]) -> String {
    let mut graph = Graph::new(short);
    let mut out = Vec::new();
    for (key, parents) in things {
        let edge = |parent: &str| Edge {
            to: parent.trim_start_matches('~').to_owned(),
            mark: (!parent.starts_with('~')).then(|| b"|".to_vec()),
        };
        let edges = parents.split_whitespace().map(edge).collect();
        let place = graph.place((*key).to_owned(), edges);
        graph.draw(&place, b"o", &[key.as_bytes()], &mut out);
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn columns_open_and_close() {
    let expected = "\
o    e
|\\
| o  d
| |
o |  c
|/
| o  b
|/
o  a
";
    let things = [("e", "c d"), ("d", "a"), ("c", "a"), ("b", "a"), ("a", "")];
    assert_eq!(drawn(false, &things), format!("{expected}\n"));
    let short = expected.replace("| o  d\n| |\n", "| o  d\n");
    assert_eq!(drawn(true, &things), short);
}

#[test]
fn many_parents_open_row_by_row() {
    let things = [
        ("e", "a b c d"),
        ("d", ""),
        ("c", "a"),
        ("b", "a"),
        ("a", ""),
    ];
    let expected = "\
o    e
|\\
| \\
| |\\
| | \\
| | |\\
| | | o  d
| | |
+---o  c
| |
| o  b
|/
o  a

";
    assert_eq!(drawn(false, &things), expected);
}

#[test]
fn columns_that_end_let_others_move_left() {
    let things = [("c", "~x b"), ("b", "~y")];
    let expected = "\
o    c
|\\
~ |
 /
o  b
|
~
";
    assert_eq!(drawn(false, &things), expected);
}

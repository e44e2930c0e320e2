use std::collections::BTreeMap;
use std::path::PathBuf;
use varve_testkit::rooms::{FLOORS, allowed, picture, upward_among, upward_imports};
use varve_testkit::workspace_root;

#[test]
fn imports_inside_crates_go_downward() {
    let allowed = allowed();
    assert_eq!(FLOORS.len(), allowed.len(), "{allowed:?}");
    for (name, floors) in FLOORS {
        let found = upward_imports(name, floors);
        let lines: Vec<String> = found
            .iter()
            .map(|import| {
                let (file, from, to) = (import.file.display(), &import.from, &import.to);
                format!("{file}: {from} imports {to}")
            })
            .collect();
        let lines = lines.join("\n");
        let (count, allowed) = (found.len(), allowed[*name]);
        assert!(
            count <= allowed,
            "{name}: {count} upward imports, at most {allowed}\n{lines}"
        );
        assert_eq!(
            count, allowed,
            "{name} has fewer: write the new number into upward_imports.txt"
        );
    }
}

#[test]
fn the_picture_in_the_architecture_is_the_table() {
    let text = std::fs::read_to_string(workspace_root().join("ARCHITECTURE.md")).unwrap();
    let picture = picture();
    assert!(
        text.contains(&picture),
        "ARCHITECTURE.md has not these lines:\n{picture}"
    );
}

#[test]
fn every_crate_has_its_rooms_in_order() {
    let crates = std::fs::read_dir(workspace_root().join("crates")).unwrap();
    for entry in crates {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_listed = FLOORS.iter().any(|(listed, _)| *listed == name);
        assert!(is_listed, "{name} is not in the table of rooms");
    }
}

fn found(sources: &[(&str, &str)]) -> Vec<String> {
    let files: BTreeMap<PathBuf, String> = sources
        .iter()
        .map(|(path, text)| (PathBuf::from(path), (*text).to_owned()))
        .collect();
    let floors: &[&[&str]] = &[&["ground"], &["left", "right"], &["roof"]];
    let found = upward_among(&files, floors).into_iter();
    found
        .map(|import| format!("{}: {}", import.file.display(), import.to))
        .collect()
}

#[test]
fn imports_from_above_and_from_beside_are_upward() {
    let library =
        "pub mod ground; pub use roof::{Chimney, tiles::Tile as RoofTile}; pub struct Building;";
    let clean = [
        ("lib.rs", library),
        (
            "ground.rs",
            "use std::fmt; use crate::Building; mod tests {}",
        ),
        (
            "left/mod.rs",
            "use crate::ground::Floor; use super::ground; mod deep;",
        ),
        (
            "left/deep.rs",
            "use super::Wall; use super::super::ground::Floor; use self::inner::X;",
        ),
        (
            "roof.rs",
            "use crate::{ground, left::Wall, right}; fn f() { crate::left::build(); }",
        ),
    ];
    assert_eq!(found(&clean), [] as [String; 0]);
    let upward = [
        ("lib.rs", library),
        ("right.rs", ""),
        ("roof.rs", ""),
        (
            "ground.rs",
            "use crate::{left::Wall, Building}; use crate::RoofTile;",
        ),
        (
            "left/mod.rs",
            "fn f() -> crate::right::Wall { super::roof::cover() }",
        ),
        (
            "left/deep/x.rs",
            "use super::super::super::roof; use super::super::own; type T = crate::Chimney;",
        ),
    ];
    let expected = [
        "ground.rs: left",
        "ground.rs: roof",
        "left/deep/x.rs: roof",
        "left/deep/x.rs: roof",
        "left/mod.rs: right",
        "left/mod.rs: roof",
    ];
    assert_eq!(found(&upward), expected);
}

#[test]
fn imports_of_tests_do_not_count() {
    let source =
        "#[cfg(test)] mod tests { use crate::roof::Chimney; } #[cfg(test)] use crate::roof::X;";
    assert_eq!(found(&[("ground.rs", source)]), [] as [String; 0]);
}

#[test]
#[should_panic(expected = "the room \"cellar\" is on no floor")]
fn a_room_without_a_floor_fails() {
    found(&[("cellar.rs", "use crate::ground::Floor;")]);
}

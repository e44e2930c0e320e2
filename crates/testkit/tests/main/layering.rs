use super::cargo_metadata;
use serde_json::json;
use varve_testkit::layering::{unknown_layers, violations};

#[test]
fn no_crate_imports_what_it_may_not() {
    let metadata = cargo_metadata(&["--no-deps"]);
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 10, "only {} crates", packages.len());
    assert_eq!(violations(&metadata), Vec::<String>::new());
}

#[test]
fn every_layer_in_the_table_has_a_line() {
    assert!(unknown_layers().is_empty(), "{:?}", unknown_layers());
}

#[test]
fn wrong_imports_are_found() {
    let dependency = |name: &str, kind: Option<&str>| json!({"name": name, "kind": kind});
    let metadata = json!({"packages": [
        {"name": "varve-btree", "dependencies": [
            dependency("varve-base", None),
            dependency("varve-docdb", None),
            dependency("tokio", None),
            dependency("varve-testkit", Some("dev")),
        ]},
        {"name": "varve-codec", "dependencies": [dependency("varve-testkit", None)]},
        {"name": "varve-server", "dependencies": [dependency("tokio", None)]},
        {"name": "varve-attic", "dependencies": []},
    ]});
    assert_eq!(
        violations(&metadata),
        [
            "varve-btree may not import varve-docdb",
            "varve-btree imports tokio: only s3 and server are async",
            "varve-codec may not import varve-testkit",
            "varve-attic is not in the table of layers",
        ]
    );
}

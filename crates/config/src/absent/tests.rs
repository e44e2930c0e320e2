//! Values that are refused, and those that pass.

use super::*;
use crate::{Ini, Settings};
use std::path::Path;

fn read(text: &str) -> Result<Settings, String> {
    let ini = Ini::parse(Path::new("varve.ini"), text).unwrap();
    Settings::read(&ini).map_err(|error| error.to_string())
}

#[test]
fn couchdbs_own_values_pass_and_others_are_refused_with_the_reason() {
    for absent in ABSENT.iter().chain([&CHANNEL, &HOSTS]) {
        for (key, allowed) in absent.keys {
            let section = match absent.section.ends_with(['.', ':']) {
                true => format!("{}any", absent.section),
                false => absent.section.to_owned(),
            };
            let key = if key.is_empty() { "any" } else { key };
            let with = |value: &str| read(&format!("[{section}]\n{key} = {value}\n"));
            for value in *allowed {
                with(value).unwrap();
            }
            let told = with("another").unwrap_err();
            assert!(told.contains(absent.why), "{told}");
        }
    }
}

/// Facts about CouchDB 3.5: its `default.ini`, with the keys that are comments there.
#[test]
fn no_key_of_couchdb_is_accepted_and_ignored() {
    let keys = include_str!("../../tests/couchdb_keys.txt");
    let mut section = "";
    let mut count = 0;
    for line in keys.lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
            continue;
        }
        let text = format!("[{section}]\n{line} = \u{1}another\n");
        if let Ok(settings) = read(&text) {
            assert!(settings.idle.is_empty(), "[{section}] {line}");
        }
        count += 1;
    }
    assert!(count > 300, "{count}");
}

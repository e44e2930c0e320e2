//! Aliases of the configuration in lists of commands.

use crate::context::{Category, Config};

/// The names that `ALIAS:category` knows.
const CATEGORIES: &[(&str, Category)] = &[
    ("repo", Category::Creation),
    ("remote", Category::Exchange),
    ("committing", Category::Committing),
    ("management", Category::Organization),
    ("files", Category::Contents),
    ("navigation", Category::Navigation),
    ("workingdir", Category::WorkingDirectory),
    ("maintenance", Category::Maintenance),
    ("help", Category::Help),
];

/// The value of `ALIAS:kind`.
pub(crate) fn described<'c>(config: &'c Config, name: &str, kind: &str) -> Option<&'c [u8]> {
    config.get("alias", &format!("{name}:{kind}"))
}

pub(crate) fn text_of(value: &[u8]) -> String {
    String::from_utf8_lossy(value).trim().to_owned()
}

/// Names and first lines of the aliases that lists of commands have, those with a text of their own; with `category`
/// those of one, without it those that name none of them.
pub(super) fn listed(config: &Config, category: Option<Category>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for item in config.section("alias") {
        let name = String::from_utf8_lossy(&item.key);
        let Some(doc) = described(config, &name, "doc").filter(|_| !name.contains(':')) else {
            continue;
        };
        let named = described(config, &name, "category").map(text_of);
        let of = CATEGORIES
            .iter()
            .find(|(known, _)| Some(*known) == named.as_deref())
            .map(|(_, category)| *category);
        if of == category {
            let first = text_of(doc).lines().next().unwrap_or_default().to_owned();
            found.push((name.into_owned(), first));
        }
    }
    found
}

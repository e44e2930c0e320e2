//! Licences of everything that is linked or run, judged by their SPDX expressions.

use serde_json::Value;

/// Licences that may be linked into an Apache-2.0 program without further duties than a notice.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    // Data: the certificates of authorities.
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "bzip2-1.0.6",
];

/// Packages in the output of `cargo metadata` whose licence is not allowed, each with its licence.
pub fn forbidden_licences(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .filter_map(|package| {
            let name = package["name"].as_str().unwrap_or("a package without name");
            let licence = package["license"].as_str().unwrap_or("none");
            (!is_allowed(licence)).then(|| format!("{name}: {licence}"))
        })
        .collect()
}

/// Whether an SPDX expression can be met with allowed licences alone. The old spelling with a
/// slash means OR.
pub fn is_allowed(expression: &str) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    let allowed = any(&mut rest);
    allowed && rest.is_empty()
}

fn any(words: &mut &[&str]) -> bool {
    let mut allowed = all(words);
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        // No short circuit: the words must be consumed.
        allowed |= all(words);
    }
    allowed
}

fn all(words: &mut &[&str]) -> bool {
    let mut allowed = one(words);
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        allowed &= one(words);
    }
    allowed
}

fn one(words: &mut &[&str]) -> bool {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let allowed = any(words);
            let closed = matches!(*words, [")", ..]);
            *words = words.get(1..).unwrap_or_default();
            allowed && closed
        }
        [name, "WITH", exception, rest @ ..] => {
            *words = rest;
            ALLOWED.contains(&format!("{name} WITH {exception}").as_str())
        }
        [name, rest @ ..] => {
            *words = rest;
            ALLOWED.contains(name)
        }
        [] => false,
    }
}

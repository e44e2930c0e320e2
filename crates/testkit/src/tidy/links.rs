//! Links of Markdown files to other files of the repository.

use std::path::Path;

/// Targets of the links in a Markdown text, without those inside code.
pub fn links(markdown: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        // Every second piece between backquotes is code.
        for prose in line.split('`').step_by(2) {
            for after in prose.split("](").skip(1) {
                let target = after.split([')', ' ']).next().unwrap_or(after);
                found.push(target.to_owned());
            }
        }
    }
    // A link whose text is code loses its opening half above but keeps its `](target)`.
    found
}

/// Links to files that do not exist. `directory` is where the Markdown file lies.
pub fn broken_links(markdown: &str, directory: &Path) -> Vec<String> {
    let mut all = links(markdown);
    all.retain(|target| {
        let path = target.split('#').next().unwrap_or(target);
        let elsewhere = path.contains("://") || path.starts_with("mailto:") || path.is_empty();
        !elsewhere && !directory.join(path).exists()
    });
    all
}

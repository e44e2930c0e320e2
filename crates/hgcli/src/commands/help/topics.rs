//! Help about something else than one command.
//!
//! A text has paragraphs; a line in brackets begins a section, and indented lines are a table of
//! terms, each with two blanks before its meaning.

pub(super) struct Topic {
    /// Its name, then other names for the same.
    pub(super) names: &'static [&'static str],
    /// Title of the topic.
    pub(super) title: &'static str,
    /// Text of the topic.
    pub(super) text: &'static str,
}

/// All topics, sorted by name.
pub(super) const TOPICS: &[Topic] = &[
    Topic {
        names: &["bundlespec"],
        title: "Kinds of Bundles",
        text: include_str!("texts/bundlespec.txt"),
    },
    Topic {
        names: &["config", "hgrc"],
        title: "Configuration Files",
        text: include_str!("texts/config.txt"),
    },
    Topic {
        names: &["dates"],
        title: "Date Formats",
        text: include_str!("texts/dates.txt"),
    },
    Topic {
        names: &["diffs"],
        title: "Diff Formats",
        text: include_str!("texts/diffs.txt"),
    },
    Topic {
        names: &["environment", "env"],
        title: "Environment Variables",
        text: include_str!("texts/environment.txt"),
    },
    Topic {
        names: &["hgignore", "ignore"],
        title: "Ignored Files",
        text: include_str!("texts/hgignore.txt"),
    },
    Topic {
        names: &["patterns"],
        title: "File Name Patterns",
        text: include_str!("texts/patterns.txt"),
    },
    Topic {
        names: &["phases"],
        title: "Phases",
        text: include_str!("texts/phases.txt"),
    },
    Topic {
        names: &[
            "revisions",
            "revs",
            "revsets",
            "revset",
            "multirevs",
            "mrevs",
        ],
        title: "Names and Sets of Changesets",
        text: include_str!("texts/revisions.txt"),
    },
    Topic {
        names: &["scripting"],
        title: "Calls from Scripts",
        text: include_str!("texts/scripting.txt"),
    },
    Topic {
        names: &["templating", "templates", "template", "style"],
        title: "Templates",
        text: include_str!("texts/templating.txt"),
    },
    Topic {
        names: &["urls"],
        title: "Addresses of Repositories",
        text: include_str!("texts/urls.txt"),
    },
];

impl Topic {
    /// The topic of a name.
    pub(super) fn find(name: &str) -> Option<&'static Topic> {
        TOPICS.iter().find(|topic| topic.names.contains(&name))
    }

    /// The whole, under its title.
    pub(super) fn shown(&self) -> String {
        let line = "\"".repeat(self.title.len());
        format!("{}\n{line}\n\n{}", self.title, laid_out(self.text))
    }

    pub(super) fn section(&self, name: &str) -> Option<String> {
        let head = format!("[{name}]");
        let mut lines = self
            .text
            .lines()
            .skip_while(|line| *line != head)
            .peekable();
        lines.peek()?;
        let mut section: Vec<&str> = vec![lines.next()?];
        section.extend(lines.take_while(|line| !line.starts_with('[')));
        Some(laid_out(&section.join("\n")))
    }

    /// Whether title or text have this word, which is in lower case.
    pub(super) fn mentions(&self, word: &str) -> bool {
        let has = |text: &str| text.to_lowercase().contains(word);
        has(self.title) || has(self.text) || self.names.iter().any(|name| has(name))
    }
}

/// Indented, with a line under the name of each section.
fn laid_out(text: &str) -> String {
    let mut out = String::new();
    for line in text.trim_end().lines() {
        match line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            Some(name) => out += &format!("    \"{name}\"\n    {}\n\n", "-".repeat(name.len() + 2)),
            None if line.is_empty() => out.push('\n'),
            None => out += &format!("    {line}\n"),
        }
    }
    out
}

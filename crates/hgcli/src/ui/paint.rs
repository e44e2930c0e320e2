//! Colours: labels of output, and the effects that show them.

use super::styles::{EFFECTS, STYLES};
use crate::ui::{Abort, Ui, environment};
use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::Arc;
use varve_config::hgrc::{Hgrc, boolean};

/// How labels are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PaintMode {
    /// Not at all.
    #[default]
    Off,
    /// By control sequences of ECMA-48.
    Ansi,
    /// With their names between brackets.
    Debug,
}

/// Shows labels of output.
#[derive(Clone, Debug, Default)]
pub struct Painter {
    mode: PaintMode,
    /// Effects by label.
    styles: Arc<HashMap<Vec<u8>, Vec<u8>>>,
}

impl Painter {
    /// The form that `--color` asks for, else the configuration; also the words about effects of the configuration that
    /// are unknown.
    ///
    /// # Errors
    /// An unknown value.
    pub fn new(typed: Option<&[u8]>, config: &Hgrc) -> Result<(Painter, Vec<String>), Abort> {
        let mode = mode(typed, config)?;
        if mode != PaintMode::Ansi {
            let painter = Painter {
                mode,
                ..Painter::default()
            };
            return Ok((painter, Vec::new()));
        }
        let defaults = STYLES.iter();
        let mut styles: HashMap<Vec<u8>, Vec<u8>> = defaults
            .map(|(label, effects)| (label.as_bytes().to_vec(), effects.as_bytes().to_vec()))
            .collect();
        let mut warnings = Vec::new();
        for item in config.section("color") {
            let is_label = item.key.contains(&b'.')
                && !item.key.starts_with(b"color.")
                && !item.key.starts_with(b"terminfo.");
            if !is_label {
                continue;
            }
            let mut effects = Vec::new();
            for word in config.list("color", &String::from_utf8_lossy(&item.key)) {
                match effect(&word) {
                    Some(_) => effects.push(word),
                    None => warnings.push(format!(
                        "ignoring unknown color/effect '{}' (configured in color.{})\n",
                        String::from_utf8_lossy(&word),
                        String::from_utf8_lossy(&item.key)
                    )),
                }
            }
            // Without a value the default stays.
            if !item.value.trim_ascii().is_empty() {
                styles.insert(item.key.clone(), effects.join(&b' '));
            }
        }
        let painter = Painter {
            mode,
            styles: Arc::new(styles),
        };
        Ok((painter, warnings))
    }

    /// Whether labels are shown in any way.
    pub fn is_on(&self) -> bool {
        self.mode != PaintMode::Off
    }

    /// Text with one or more labels, which blanks separate.
    pub fn paint(&self, labels: &str, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        self.push(labels, text, &mut out);
        out
    }

    /// Appends text with labels.
    pub fn push(&self, labels: &str, text: &[u8], out: &mut Vec<u8>) {
        match self.mode {
            PaintMode::Off => out.extend_from_slice(text),
            PaintMode::Debug if labels.is_empty() || text.is_empty() => {
                out.extend_from_slice(text);
            }
            PaintMode::Debug => {
                let (body, end) = match text.strip_suffix(b"\n") {
                    Some(body) => (body, &b"]\n"[..]),
                    None => (text, &b"]"[..]),
                };
                let parts = [b"[", labels.as_bytes(), b"|", body, end];
                out.extend_from_slice(&parts.concat());
            }
            PaintMode::Ansi => self.push_ansi(labels, text, out),
        }
    }

    fn push_ansi(&self, labels: &str, text: &[u8], out: &mut Vec<u8>) {
        let effects = self.effects(labels);
        if effects.is_empty() {
            out.extend_from_slice(text);
            return;
        }
        let start = format!("\x1b[0;{}m", effects.join(";"));
        for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
            if index > 0 {
                out.push(b'\n');
            }
            push_between(start.as_bytes(), line, out);
        }
    }

    /// Numbers of the effects of labels.
    fn effects(&self, labels: &str) -> Vec<String> {
        let mut numbers = Vec::new();
        for label in labels.split_ascii_whitespace() {
            let style = self.styles.get(label.as_bytes());
            let style = style.filter(|style| !style.is_empty());
            let words = match style {
                Some(style) => style.split(|byte| *byte == b' ').collect(),
                None => vec![label.as_bytes()],
            };
            numbers.extend(words.into_iter().filter_map(effect));
        }
        numbers.iter().map(u8::to_string).collect()
    }
}

/// Ends all effects.
const STOP: &[u8] = b"\x1b[0m";

/// Appends a line with effects. Those of text inside of it end all effects, so these begin again behind it.
fn push_between(start: &[u8], mut line: &[u8], out: &mut Vec<u8>) {
    while !line.is_empty() {
        let stop = line.windows(STOP.len()).position(|part| part == STOP);
        let end = stop.unwrap_or(line.len());
        if end > 0 {
            out.extend_from_slice(&[start, &line[..end], STOP].concat());
        }
        line = line.get(end + STOP.len()..).unwrap_or_default();
    }
}

/// Text without the sequences of effects.
pub(crate) fn without_effects(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.windows(2).position(|part| part == b"\x1b[") {
        let Some(len) = rest[at..].iter().position(|byte| *byte == b'm') else {
            break;
        };
        plain.extend_from_slice(&rest[..at]);
        rest = &rest[at + len + 1..];
    }
    plain.extend_from_slice(rest);
    plain
}

fn effect(name: &[u8]) -> Option<u8> {
    let mut known = EFFECTS.iter();
    let found = known.find(|(effect, _)| effect.as_bytes() == name);
    found.map(|(_, number)| *number)
}

fn mode(typed: Option<&[u8]>, config: &Hgrc) -> Result<PaintMode, Abort> {
    if environment::is_plain(Some("color")) {
        return Ok(PaintMode::Off);
    }
    let asked = typed.or_else(|| config.get("ui", "color"));
    let asked = asked.unwrap_or(b"auto").to_ascii_lowercase();
    let always = match &asked[..] {
        b"debug" => return Ok(PaintMode::Debug),
        b"always" => true,
        b"auto" | b"" => false,
        b"never" => return Ok(PaintMode::Off),
        other => match boolean(other) {
            Some(true) => typed.is_some(),
            Some(false) => return Ok(PaintMode::Off),
            // Mercurial takes no other word for a wish.
            None => return Ok(PaintMode::Off),
        },
    };
    let wanted = match config.get("color", "mode") {
        None | Some(b"auto" | b"ansi" | b"terminfo") => PaintMode::Ansi,
        // Other modes are those of other systems.
        Some(_) => PaintMode::Off,
    };
    let is_dumb = environment::variable("TERM").is_some_and(|name| name == b"dumb");
    let formatted = config.get("ui", "formatted").and_then(boolean);
    let is_formatted = formatted.unwrap_or_else(|| std::io::stdout().is_terminal()) && !is_dumb;
    Ok(match always || is_formatted {
        true => wanted,
        false => PaintMode::Off,
    })
}

impl Ui {
    /// Prints a result with labels.
    pub fn write_labelled(&mut self, labels: &str, bytes: impl AsRef<[u8]>) -> Result<(), Abort> {
        let painted = self.painter.paint(labels, bytes.as_ref());
        self.write(painted)
    }

    /// Prints unless `--quiet`, with a label of its own before that of all messages.
    pub fn status_labelled(&mut self, label: &str, bytes: impl AsRef<[u8]>) -> Result<(), Abort> {
        match self.verbosity.quiet {
            true => Ok(()),
            false => self.write_labelled(&format!("{label} ui.status"), bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn painter(typed: &[u8], settings: &str) -> Painter {
        let mut config = Hgrc::default();
        for line in settings.lines() {
            config.add_argument(line.as_bytes()).unwrap();
        }
        Painter::new(Some(typed), &config).unwrap().0
    }

    #[test]
    fn labels_are_shown_by_their_effects() {
        let ansi = painter(
            b"always",
            "color.log.x=red bold nosuch\ncolor.status.added=",
        );
        for (labels, text, expected) in [
            ("log.x", "a", "\x1b[0;31;1ma\x1b[0m"),
            (
                "log.x",
                "a\n\nb\n",
                "\x1b[0;31;1ma\x1b[0m\n\n\x1b[0;31;1mb\x1b[0m\n",
            ),
            ("log.none", "a", "a"),
            ("status.added", "a", "\x1b[0;32;1ma\x1b[0m"),
            ("log.nosuch", "a", "a"),
            ("status.added log.x", "a", "\x1b[0;32;1;31;1ma\x1b[0m"),
            ("green", "a", "\x1b[0;32ma\x1b[0m"),
        ] {
            let painted = ansi.paint(labels, text.as_bytes());
            assert_eq!(String::from_utf8(painted).unwrap(), expected, "{labels}");
        }
        let debug = painter(b"debug", "");
        assert_eq!(debug.paint("a.b", b"x\n"), b"[a.b|x]\n");
        assert_eq!(debug.paint("", b"x"), b"x");
        assert_eq!(painter(b"never", "").paint("green", b"x"), b"x");
    }
}

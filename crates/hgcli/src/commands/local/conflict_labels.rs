//! Names of the sides in the lines around conflicts, with their changesets: `ui.mergemarkers`.

use crate::context::Config;
use crate::render::changesets::{ChangesetFormat, Printer, PrinterStyle};
use crate::render::templates::unquoted;
use crate::ui::{Abort, Ui, columns};
use varve_workdir::{DescribedSide, MarkerStyle};

/// Columns of a name with its changeset; a marker of eight comes before it.
const WIDTH: usize = 72;

/// Default of `command-templates.mergemarker`.
const TEMPLATE: &[u8] =
    b"{node|short} {ifeq(tags, \"tip\", \"\", ifeq(tags, \"\", \"\", \"{tags} \"))}\
      {if(bookmarks, \"{bookmarks} \")}{ifeq(branch, \"default\", \"\", \"{branch} \")}\
      - {author|user}: {desc|firstline}";

/// Fills a template for changesets of one repository.
pub(crate) struct Describer {
    template: Vec<u8>,
    printer: Printer,
}

/// Whether changesets are named.
///
/// # Errors
/// A wrong template.
pub(crate) fn style(config: &Config) -> Result<MarkerStyle, Abort> {
    let set = config.get("ui", "mergemarkers");
    let style = set.map_or(MarkerStyle::Basic, MarkerStyle::named);
    if style == MarkerStyle::Detailed {
        ChangesetFormat::of_template(template(config, b""))?;
    }
    Ok(style)
}

/// The template: that of the tool, or else the general one.
fn template<'c>(config: &'c Config, tool: &[u8]) -> &'c [u8] {
    let key = format!("{}.mergemarkertemplate", String::from_utf8_lossy(tool));
    let own = config.get("merge-tools", &key);
    let general = || config.get("command-templates", "mergemarker");
    let older = || config.get("ui", "mergemarkertemplate");
    let set = own.or_else(general).or_else(older);
    set.map_or(TEMPLATE, unquoted)
}

/// A name, padded, with the first line of the template for its changeset.
pub(crate) fn describe(
    ui: &mut Ui,
    config: &Config,
    describer: &mut Option<Describer>,
    side: &DescribedSide<'_>,
) -> Result<Vec<u8>, Abort> {
    let template = template(config, side.tool);
    if template.is_empty() {
        return Err(Abort::new("\"\" not in template map"));
    }
    let known = describer.take().filter(|known| known.template == template);
    let described = match known {
        Some(known) => known,
        None => Describer {
            printer: printer(ui, config, side, template)?,
            template: template.to_vec(),
        },
    };
    let described = describer.insert(described);
    let text = described.printer.text_of_node(&side.node)?;
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut label = [side.name, b":"].concat();
    label.resize(label.len().max(side.width + 1), b' ');
    label.push(b' ');
    label.extend_from_slice(line);
    let label = label.trim_ascii_end();
    Ok(match side.width {
        // For a program, which has no lines to fit into.
        0 => label.to_vec(),
        _ => columns::shortened(label, WIDTH),
    })
}

fn printer(
    ui: &mut Ui,
    config: &Config,
    side: &DescribedSide<'_>,
    template: &[u8],
) -> Result<Printer, Abort> {
    let style = PrinterStyle {
        form: ChangesetFormat::of_template(template)?,
        ..PrinterStyle::default()
    };
    Printer::of_repository(side.repository, ui, config, style)
}

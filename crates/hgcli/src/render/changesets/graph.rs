//! Changesets beside a picture of how they descend from each other.

use super::Printer;
use super::lineage::{Ancestor, Lineage};
use crate::context::Config;
use crate::render::graph::{Edge, Graph, Mark};
use crate::render::templates::{Template, unquoted};
use crate::ui::environment::is_plain;
use crate::ui::{Abort, Ui};
use varve_repo::Rev;
use varve_revset::WORKING_COPY;

/// How the picture looks, as configured.
pub(crate) struct GraphStyle {
    short: bool,
    parent: Mark,
    distant: Mark,
    missing: Mark,
    /// Whether only those parents count that are shown.
    shown_parents: bool,
    /// Makes the symbol of a changeset.
    symbol: Template,
}

/// The symbol of a changeset if nothing is configured.
const SYMBOL: &[u8] = b"{graphnode}";

impl GraphStyle {
    /// Look of the configuration.
    pub(crate) fn new(config: &Config) -> Result<GraphStyle, Abort> {
        let plain = is_plain(Some("graph"));
        let [parent, distant, missing] = if plain {
            [const { b"|" }; 3].map(|mark| Some(mark.to_vec()))
        } else {
            let mark = |key: &str, usual: Option<&[u8]>| -> Mark {
                let mark = config.get("experimental", key).or(usual);
                mark.filter(|mark| !mark.is_empty()).map(<[u8]>::to_vec)
            };
            [
                mark("graphstyle.parent", Some(b"|")),
                mark("graphstyle.grandparent", Some(b":")),
                mark("graphstyle.missing", None),
            ]
        };
        let symbol = ["command-templates.graphnode", "ui.graphnodetemplate"];
        let symbol = symbol.iter().find_map(|name| {
            let (section, key) = name.split_once('.')?;
            config.get(section, key)
        });
        let symbol = symbol.filter(|symbol| !symbol.is_empty());
        Ok(GraphStyle {
            short: !plain
                && config
                    .boolean("experimental", "graphshorten", false)
                    .map_err(Abort::Setting)?,
            parent,
            distant,
            missing,
            shown_parents: false,
            symbol: Template::configured(config, unquoted(symbol.unwrap_or(SYMBOL)))?,
        })
    }

    /// Leaves out edges to changesets that are not shown.
    pub(crate) fn of_shown_parents(self) -> GraphStyle {
        GraphStyle {
            shown_parents: true,
            ..self
        }
    }

    fn is_drawn(&self, ancestor: Ancestor) -> bool {
        !self.shown_parents || matches!(ancestor, Ancestor::Parent(_))
    }

    fn edge(&self, ancestor: Ancestor) -> Edge<Option<Rev>> {
        let (to, mark) = match ancestor {
            Ancestor::Parent(to) => (to, &self.parent),
            Ancestor::Distant(to) => (to, &self.distant),
            Ancestor::Missing(to) => (Some(to), &self.missing),
        };
        let mark = mark.clone();
        Edge { to, mark }
    }
}

impl Printer {
    /// Prints changesets in this order, children before their parents.
    pub(crate) fn print_graph(
        &self,
        ui: &mut Ui,
        look: &GraphStyle,
        revs: &[Option<Rev>],
    ) -> Result<(), Abort> {
        let changelog = self.view.changelog();
        let mut reader = changelog.reader();
        let working = self.parents_of(Some(WORKING_COPY));
        let mut lineage = Lineage::new(changelog, working, revs);
        let mut graph = Graph::new(look.short);
        self.print_header(ui)?;
        for (index, rev) in revs.iter().enumerate() {
            let edges = lineage.of(*rev).into_iter();
            let edges = edges.filter(|ancestor| look.is_drawn(*ancestor));
            let place = graph.place(*rev, edges.map(|ancestor| look.edge(ancestor)).collect());
            let (mut symbol, mut text) = (Vec::new(), Vec::new());
            self.with_subject(*rev, &mut reader, |subject| {
                (subject.drawn, subject.index) = (place.width(), index);
                self.fill(&look.symbol, subject, &mut symbol)?;
                self.render_subject(subject, &mut text)
            })?;
            let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
            lines.pop_if(|last| last.is_empty());
            let mut out = Vec::new();
            graph.draw(&place, &symbol, &lines, &mut out);
            ui.write(out)?;
        }
        self.print_footer(ui)
    }
}

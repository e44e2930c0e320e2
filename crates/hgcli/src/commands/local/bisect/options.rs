//! The options of a call, and the old form without hyphens.

use crate::arguments::Matches;
use crate::ui::{Abort, Ui};

/// The one thing that a call does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BisectAction {
    /// Only goes on.
    Continue,
    Reset,
    Good,
    Bad,
    Skip,
    Extend,
    /// Tests by this line.
    Command(Vec<u8>),
}

/// A call, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BisectOptions {
    pub(super) action: BisectAction,
    /// The changesets that are meant.
    pub(super) rev: Option<Vec<u8>>,
}

impl BisectOptions {
    pub(super) fn read(ui: &mut Ui, matches: &Matches) -> Result<BisectOptions, Abort> {
        let mut arguments = matches.arguments().iter();
        let (first, second) = (arguments.next(), arguments.next());
        let old_form = first.and_then(|word| match &word[..] {
            b"good" => Some(BisectAction::Good),
            b"bad" => Some(BisectAction::Bad),
            b"reset" => Some(BisectAction::Reset),
            b"init" => Some(BisectAction::Continue),
            _ => None,
        });
        if let Some(action) = old_form {
            ui.warn("(use of 'hg bisect <cmd>' is deprecated)\n")?;
            // `init` only forgets what was before.
            let action = match action {
                BisectAction::Continue => BisectAction::Reset,
                action => action,
            };
            let rev = second.cloned();
            return Ok(BisectOptions { action, rev });
        }
        if second.is_some() {
            return Err(Abort::input("incompatible arguments"));
        }
        let command = matches.value("command").filter(|line| !line.is_empty());
        let given = [
            ("bad", matches.flag("bad").then_some(BisectAction::Bad)),
            (
                "command",
                command.map(|line| BisectAction::Command(line.to_vec())),
            ),
            (
                "extend",
                matches.flag("extend").then_some(BisectAction::Extend),
            ),
            ("good", matches.flag("good").then_some(BisectAction::Good)),
            (
                "reset",
                matches.flag("reset").then_some(BisectAction::Reset),
            ),
            ("skip", matches.flag("skip").then_some(BisectAction::Skip)),
        ];
        let mut given = given
            .into_iter()
            .filter_map(|(name, action)| Some((name, action?)));
        let action = match (given.next(), given.next()) {
            (Some((one, _)), Some((other, _))) => {
                let message = format!("--{one} and --{other} are incompatible");
                return Err(Abort::input(message));
            }
            (Some((_, action)), None) => action,
            (None, _) => BisectAction::Continue,
        };
        Ok(BisectOptions {
            action,
            rev: first.cloned(),
        })
    }
}

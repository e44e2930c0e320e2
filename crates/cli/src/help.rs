//! The groups of commands in `varve --help`, and the calls for help that concern commands whose arguments `clap` parses.

use crate::commands::{ADDITIONAL, OF_VARVE_AND_HG};
use std::ffi::OsString;
use varve_hgcli::context::{CommandGroup, Program};

/// The program under the name `hg`: help and messages are Mercurial's.
pub(crate) const HG: Program = Program {
    name: "hg",
    additional: ADDITIONAL,
    groups: &[],
};

/// The program under its own name.
pub(crate) const VARVE: Program = Program {
    name: "varve",
    additional: OF_VARVE_AND_HG,
    groups: GROUPS,
};

/// Names of Varve's own commands by subject. A test compares them with the commands that exist.
const GROUPS: &[CommandGroup] = &[
    CommandGroup {
        title: "Serving",
        names: &["serve"],
    },
    CommandGroup {
        title: "Moving databases",
        names: &["dump", "export", "import", "load", "shared"],
    },
    CommandGroup {
        title: "Care of repositories and databases",
        names: &["clonebundle", "recompress", "verify"],
    },
    CommandGroup {
        title: "Measuring",
        names: &["advise", "bench"],
    },
];

/// The words that `clap` is to take apart: a call of one of the commands `ours`, or for the help of one. `help X` and
/// `--help X` become `X --help`.
pub(crate) fn words_for_clap(words: &[OsString], ours: &[&str]) -> Option<Vec<OsString>> {
    let is_ours = |word: &OsString| ours.iter().any(|name| word == name);
    match words {
        [first, ..] if is_ours(first) => Some(words.to_vec()),
        [help, named @ ..]
            if ["help", "--help", "-h"].iter().any(|asks| help == asks)
                && named.first().is_some_and(is_ours) =>
        {
            let mut words = named.to_vec();
            words.push("--help".into());
            Some(words)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::OF_VARVE_AND_HG;
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    #[test]
    fn each_own_command_is_in_one_group_and_has_a_summary() {
        let listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|group| group.names)
            .copied()
            .collect();
        let own: BTreeSet<&str> = OF_VARVE_AND_HG.iter().map(|other| other.name()).collect();
        let of_clap = crate::Arguments::command();
        assert!(
            of_clap
                .get_subcommands()
                .all(|command| own.contains(command.get_name()))
        );
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), own);
        assert_eq!(listed.len(), own.len(), "no command is listed twice");
        assert!(
            OF_VARVE_AND_HG
                .iter()
                .all(|command| !command.summary.is_empty())
        );
    }

    #[test]
    fn help_before_a_command_is_help_behind_it() {
        let words = |text: &str| -> Vec<OsString> { text.split(' ').map(Into::into).collect() };
        let clap = |text: &str| words_for_clap(&words(text), crate::OF_VARVE);
        assert_eq!(clap("help bench codec"), Some(words("bench codec --help")));
        assert_eq!(clap("-h serve"), Some(words("serve --help")));
        assert_eq!(clap("serve d"), Some(words("serve d")));
        assert_eq!(clap("help log"), None);
        assert_eq!(clap("help"), None);
    }
}

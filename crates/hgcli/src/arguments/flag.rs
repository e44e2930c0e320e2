//! Options of commands.

/// Value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagKind {
    /// Nothing; `--no-NAME` takes it back.
    Flag,
    /// A value; the last one counts. The word stands for it in help.
    Value(&'static str),
    /// A value each time; all of them count.
    List(&'static str),
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// The letter, if it has one.
    pub short: Option<char>,
    /// The name behind two hyphens.
    pub long: &'static str,
    /// Whether it takes a value, and which.
    pub kind: FlagKind,
    /// Description, one line.
    pub help: &'static str,
}

impl Flag {
    /// True if a value belongs to it.
    pub fn takes_value(&self) -> bool {
        self.kind != FlagKind::Flag
    }

    const fn new(
        short: Option<char>,
        long: &'static str,
        kind: FlagKind,
        help: &'static str,
    ) -> Flag {
        Flag {
            short,
            long,
            kind,
            help,
        }
    }

    /// Takes nothing.
    #[expect(
        clippy::self_named_constructors,
        reason = "a flag is one kind of option"
    )]
    pub const fn flag(short: char, long: &'static str, help: &'static str) -> Flag {
        Flag::new(Some(short), long, FlagKind::Flag, help)
    }

    /// Takes nothing, and has no letter.
    pub const fn long_flag(long: &'static str, help: &'static str) -> Flag {
        Flag::new(None, long, FlagKind::Flag, help)
    }

    /// Takes a value.
    pub const fn value(
        short: char,
        long: &'static str,
        word: &'static str,
        help: &'static str,
    ) -> Flag {
        Flag::new(Some(short), long, FlagKind::Value(word), help)
    }

    /// Takes a value, and has no letter.
    pub const fn long_value(long: &'static str, word: &'static str, help: &'static str) -> Flag {
        Flag::new(None, long, FlagKind::Value(word), help)
    }

    /// Takes a value and can be repeated.
    pub const fn list(
        short: char,
        long: &'static str,
        word: &'static str,
        help: &'static str,
    ) -> Flag {
        Flag::new(Some(short), long, FlagKind::List(word), help)
    }

    /// Takes a value, can be repeated, and has no letter.
    pub const fn long_list(long: &'static str, word: &'static str, help: &'static str) -> Flag {
        Flag::new(None, long, FlagKind::List(word), help)
    }
}

/// `-T`, which every command with a formatter has.
pub const TEMPLATE: Flag = Flag::value(
    'T',
    "template",
    "TEMPLATE",
    "print in the form of a template, or as json",
);
/// `--style`, which commands have that show changesets.
pub const STYLE: Flag = Flag::long_value(
    "style",
    "STYLE",
    "print in this style, or as a map file says",
);
/// `-I`.
pub const INCLUDE: Flag = Flag::list(
    'I',
    "include",
    "PATTERN",
    "only files that match the pattern",
);
/// `-X`.
pub const EXCLUDE: Flag = Flag::list('X', "exclude", "PATTERN", "no files that match the pattern");
/// `--insecure`.
pub const INSECURE: Flag = Flag::long_flag(
    "insecure",
    "take any server for what it says it is, whatever web.cacerts names",
);
/// `-e`.
pub const SSH: Flag = Flag::value(
    'e',
    "ssh",
    "CMD",
    "how to get to another machine, instead of ui.ssh",
);
/// `--remotecmd`.
pub const REMOTECMD: Flag = Flag::long_value(
    "remotecmd",
    "CMD",
    "what is run there, instead of ui.remotecmd",
);

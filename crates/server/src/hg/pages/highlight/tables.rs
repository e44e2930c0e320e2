//! Languages that are highlighted.

use super::languages::{Language, Meta, PLAIN, Quote};

/// A quoted text that ends on its line.
const fn quote(mark: &'static str, escapes: bool) -> Quote {
    Quote {
        open: mark,
        close: mark,
        escapes,
        spans_lines: false,
        is_character: false,
    }
}

/// A quoted text that may have many lines.
const fn long_quote(open: &'static str, close: &'static str, escapes: bool) -> Quote {
    Quote {
        open,
        close,
        escapes,
        spans_lines: true,
        is_character: false,
    }
}

const CHARACTER: Quote = Quote {
    is_character: true,
    ..quote("'", true)
};

/// Names of files without an ending that says their language, and the ending that counts instead.
pub(super) const NAMES: &[(&str, &str)] = &[
    ("Makefile", "mk"),
    ("makefile", "mk"),
    ("GNUmakefile", "mk"),
    ("Dockerfile", "dockerfile"),
    ("CMakeLists.txt", "cmake"),
    ("Rakefile", "rb"),
    ("Gemfile", "rb"),
    ("Cargo.lock", "toml"),
    ("SConstruct", "py"),
];

pub(super) const LANGUAGES: &[Language] = &[
    Language {
        endings: &["rs"],
        keywords: "Self as async await bool break char const continue crate dyn else enum extern f32 f64 false fn for \
            i128 i16 i32 i64 i8 if impl in isize let loop match mod move mut pub ref return self static str \
            struct super trait true type u128 u16 u32 u64 u8 union unsafe use usize where while",
        line_comments: &["//"],
        block_comments: &[("/*", "*/")],
        nests_comments: true,
        quotes: &[
            long_quote("r#\"", "\"#", false),
            long_quote("r\"", "\"", false),
            long_quote("\"", "\"", true),
            CHARACTER,
        ],
        meta: &[Meta::Attribute("#[", "]"), Meta::Attribute("#![", "]")],
        ..PLAIN
    },
    Language {
        endings: &[
            "c", "h", "cc", "cpp", "cxx", "hpp", "hh", "hxx", "m", "mm", "ino",
        ],
        keywords: "NULL auto bool break case catch char class co_await co_return co_yield concept const const_cast \
            constexpr continue decltype default delete do double dynamic_cast else enum explicit export extern \
            false final float for friend goto if inline int long mutable namespace new noexcept nullptr operator \
            override private protected public register reinterpret_cast requires restrict return short signed \
            sizeof static static_assert static_cast struct switch template this throw true try typedef typename \
            union unsigned using virtual void volatile while",
        line_comments: &["//"],
        block_comments: &[("/*", "*/")],
        quotes: &[quote("\"", true), CHARACTER],
        meta: &[Meta::Directive('#')],
        ..PLAIN
    },
    Language {
        endings: &["java", "kt", "kts", "scala", "groovy", "gradle"],
        keywords: "abstract as assert boolean break byte case catch char class companion const continue data def \
            default do double else enum extends false final finally float for fun if implements import in \
            instanceof int interface internal is lateinit lazy long match native new null object open operator \
            override package private protected public record return sealed short static super suspend switch \
            synchronized this throw throws trait transient true try type typealias val var void volatile when \
            while with yield",
        line_comments: &["//"],
        block_comments: &[("/*", "*/")],
        quotes: &[
            long_quote("\"\"\"", "\"\"\"", true),
            quote("\"", true),
            CHARACTER,
        ],
        meta: &[Meta::Decorator('@')],
        ..PLAIN
    },
    Language {
        endings: &["cs"],
        keywords: "abstract as async await base bool break byte case catch char class const continue decimal default \
            delegate do double else enum event explicit extern false finally fixed float for foreach get goto if \
            implicit in init int interface internal is lock long namespace new null object operator out override \
            params private protected public readonly record ref return sbyte sealed set short sizeof static \
            string struct switch this throw true try typeof uint ulong unchecked unsafe ushort using value var \
            virtual void volatile where while yield",
        line_comments: &["//"],
        block_comments: &[("/*", "*/")],
        quotes: &[
            long_quote("\"\"\"", "\"\"\"", true),
            quote("\"", true),
            CHARACTER,
        ],
        meta: &[Meta::Directive('#')],
        ..PLAIN
    },
    Language {
        endings: &["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"],
        keywords: "abstract any as async await boolean break case catch class const constructor continue debugger \
            declare default delete do else enum export extends false finally for from function get if implements \
            import in instanceof interface is keyof let namespace never new null number of private protected \
            public readonly return satisfies set static string super switch this throw true try type typeof \
            undefined unknown var void while with yield",
        line_comments: &["//"],
        block_comments: &[("/*", "*/")],
        quotes: &[
            quote("\"", true),
            quote("'", true),
            long_quote("`", "`", true),
        ],
        meta: &[Meta::Decorator('@')],
        word_characters: "$",
        ..PLAIN
    },
    Language {
        endings: &["go"],
        keywords: "any bool break byte case chan complex128 complex64 const continue default defer else error \
            fallthrough false float32 float64 for func go goto if import int int16 int32 int64 int8 interface \
            iota map nil package range return rune select string struct switch true type uint uint16 uint32 \
            uint64 uint8 uintptr var",
        line_comments: &["//"],
        block_comments: &[("/*", "*/")],
        quotes: &[long_quote("`", "`", false), quote("\"", true), CHARACTER],
        ..PLAIN
    },
    Language {
        endings: &["swift"],
        keywords: "Self actor any as associatedtype async await break case catch class continue convenience default \
            defer deinit do else enum extension fallthrough false fileprivate final for func get guard if import \
            in indirect init inout internal is lazy let mutating nil open operator override private protocol \
            public repeat required rethrows return self set some static struct subscript super switch throw \
            throws true try typealias unowned var weak where while",
        line_comments: &["//"],
        block_comments: &[("/*", "*/")],
        nests_comments: true,
        quotes: &[long_quote("\"\"\"", "\"\"\"", true), quote("\"", true)],
        meta: &[Meta::Decorator('@'), Meta::Directive('#')],
        ..PLAIN
    },
    Language {
        endings: &["py", "pyw", "pyi", "pyx", "bzl"],
        keywords: "False None True and as assert async await break case class continue def del elif else except finally \
            for from global if import in is lambda match nonlocal not or pass raise return self try while with \
            yield",
        line_comments: &["#"],
        quotes: &[
            long_quote("\"\"\"", "\"\"\"", true),
            long_quote("'''", "'''", true),
            quote("\"", true),
            quote("'", true),
        ],
        meta: &[Meta::Decorator('@')],
        ..PLAIN
    },
    Language {
        endings: &["rb", "rake", "gemspec"],
        keywords: "BEGIN END __FILE__ __LINE__ alias and attr_accessor attr_reader attr_writer begin break case class \
            def defined do else elsif end ensure extend false for if in include module next nil not or private \
            protected public raise redo require require_relative rescue retry return self super then true undef \
            unless until when while yield",
        line_comments: &["#"],
        comments_follow_blanks: true,
        quotes: &[quote("\"", true), quote("'", true)],
        word_characters: "?!@",
        ..PLAIN
    },
    Language {
        endings: &["pl", "pm", "t"],
        keywords: "and cmp continue die do else elsif eq for foreach ge given gt if last le lt my ne next no not or our \
            package print redo ref require return say shift sub undef unless until use when while xor",
        line_comments: &["#"],
        comments_follow_blanks: true,
        quotes: &[quote("\"", true), quote("'", true)],
        word_characters: "$@%",
        ..PLAIN
    },
    Language {
        endings: &["php"],
        keywords: "abstract and array as bool break callable case catch class clone const continue declare default do \
            echo else elseif empty enddeclare endfor endforeach endif endswitch endwhile enum extends false \
            final finally float fn for foreach function global goto if implements include include_once \
            instanceof insteadof int interface isset list match mixed namespace new null or print private \
            protected public readonly require require_once return self static string switch this throw trait \
            true try unset use var void while xor yield",
        ignores_case: true,
        line_comments: &["//", "#"],
        block_comments: &[("/*", "*/")],
        quotes: &[quote("\"", true), quote("'", true)],
        word_characters: "$",
        ..PLAIN
    },
    Language {
        endings: &["sh", "bash", "zsh", "ksh", "bashrc", "profile"],
        keywords: "alias break case cd continue do done echo elif else esac eval exec exit export fi for function \
            getopts if in local printf read readonly return select set shift source test then time trap umask \
            unset until wait while",
        line_comments: &["#"],
        comments_follow_blanks: true,
        quotes: &[quote("\"", true), quote("'", false)],
        word_characters: "-",
        ..PLAIN
    },
    Language {
        endings: &["sql", "ddl", "dml"],
        keywords: "add all alter and any as asc begin between bigint boolean by cascade case char check column commit \
            constraint create cross database date default delete desc distinct drop else end exists explain \
            false foreign from full function grant group having if in index inner insert int integer into is \
            join key left like limit not null numeric offset on or order outer primary procedure references \
            returning revoke right rollback select set table text then timestamp to transaction trigger true \
            truncate union unique update using values varchar view when where with",
        ignores_case: true,
        line_comments: &["--"],
        block_comments: &[("/*", "*/")],
        quotes: &[quote("'", false), quote("\"", true)],
        ..PLAIN
    },
    Language {
        endings: &["lua"],
        keywords: "and break do else elseif end false for function goto if in local nil not or repeat return self then \
            true until while",
        line_comments: &["--"],
        block_comments: &[("--[[", "]]")],
        quotes: &[
            long_quote("[[", "]]", false),
            quote("\"", true),
            quote("'", true),
        ],
        ..PLAIN
    },
    Language {
        endings: &["hs", "lhs", "elm", "purs"],
        keywords: "as case class data default deriving do else family forall foreign hiding if import in infix infixl \
            infixr instance let mdo module newtype of qualified rec then type where",
        line_comments: &["--"],
        block_comments: &[("{-", "-}")],
        nests_comments: true,
        quotes: &[quote("\"", true), CHARACTER],
        word_characters: "'",
        ..PLAIN
    },
    Language {
        endings: &["ml", "mli", "fs", "fsi"],
        keywords: "and as assert begin class constraint do done downto else end exception external false for fun \
            function functor if in include inherit initializer lazy let match method module mutable new object \
            of open or private rec sig struct then to true try type val virtual when while with",
        block_comments: &[("(*", "*)")],
        nests_comments: true,
        quotes: &[quote("\"", true), CHARACTER],
        word_characters: "'",
        ..PLAIN
    },
    Language {
        endings: &["r"],
        keywords: "FALSE Inf NA NULL NaN TRUE break else for function if in library next repeat require return while",
        line_comments: &["#"],
        quotes: &[quote("\"", true), quote("'", true)],
        word_characters: ".",
        ..PLAIN
    },
    Language {
        endings: &["erl", "hrl"],
        keywords: "after and andalso band begin bnot bor bsl bsr bxor case catch cond div end fun if let maybe not of \
            or orelse receive rem try when xor",
        line_comments: &["%"],
        quotes: &[quote("\"", true), quote("'", true)],
        meta: &[Meta::Directive('-')],
        ..PLAIN
    },
    Language {
        endings: &["clj", "cljs", "edn", "el", "lisp", "scm"],
        keywords: "and case cond def defmacro defmethod defn defun do else false fn for if lambda let letrec loop nil \
            not ns or quote recur require set setq true try when while",
        line_comments: &[";"],
        quotes: &[long_quote("\"", "\"", true)],
        word_characters: "-!?*",
        ..PLAIN
    },
    Language {
        endings: &["json", "geojson", "webmanifest"],
        keywords: "false null true",
        quotes: &[quote("\"", true)],
        has_keys: true,
        ..PLAIN
    },
    Language {
        endings: &["yaml", "yml"],
        keywords: "false no null off on true yes",
        line_comments: &["#"],
        comments_follow_blanks: true,
        quotes: &[quote("\"", true), quote("'", false)],
        has_keys: true,
        ..PLAIN
    },
    Language {
        endings: &[
            "toml",
            "ini",
            "cfg",
            "conf",
            "hgrc",
            "properties",
            "editorconfig",
        ],
        keywords: "false no off on true yes",
        line_comments: &["#", ";"],
        comments_follow_blanks: true,
        quotes: &[
            long_quote("\"\"\"", "\"\"\"", true),
            quote("\"", true),
            quote("'", false),
        ],
        meta: &[Meta::Line('[')],
        ..PLAIN
    },
    Language {
        endings: &["css", "scss", "less"],
        keywords: "auto important inherit initial none unset",
        block_comments: &[("/*", "*/")],
        quotes: &[quote("\"", true), quote("'", true)],
        meta: &[Meta::Decorator('@')],
        word_characters: "-",
        ..PLAIN
    },
    Language {
        endings: &[
            "html", "htm", "xhtml", "xml", "xsd", "xsl", "xslt", "svg", "rss", "atom", "plist",
            "vue",
        ],
        block_comments: &[("<!--", "-->")],
        quotes: &[long_quote("\"", "\"", false), long_quote("'", "'", false)],
        is_markup: true,
        ..PLAIN
    },
    Language {
        endings: &["makefile", "mk"],
        keywords: "define else endef endif export ifdef ifeq ifndef ifneq include override unexport vpath",
        line_comments: &["#"],
        comments_follow_blanks: true,
        quotes: &[quote("\"", true), quote("'", false)],
        ..PLAIN
    },
    Language {
        endings: &["dockerfile"],
        keywords: "add arg as cmd copy entrypoint env expose from healthcheck label onbuild run shell stopsignal user \
            volume workdir",
        ignores_case: true,
        line_comments: &["#"],
        comments_follow_blanks: true,
        quotes: &[quote("\"", true), quote("'", false)],
        word_characters: "-",
        ..PLAIN
    },
    Language {
        endings: &["cmake"],
        keywords: "else elseif endforeach endfunction endif endmacro endwhile foreach function if include macro option \
            project return set while",
        ignores_case: true,
        line_comments: &["#"],
        quotes: &[long_quote("\"", "\"", true)],
        ..PLAIN
    },
    Language {
        endings: &["proto"],
        keywords: "bool bytes double enum extend false float import int32 int64 map message oneof option optional \
            package public repeated required reserved returns rpc service string syntax true uint32 uint64",
        line_comments: &["//"],
        block_comments: &[("/*", "*/")],
        quotes: &[quote("\"", true), quote("'", true)],
        ..PLAIN
    },
];

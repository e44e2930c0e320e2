//! `[revsetalias]`, and `debugrevspec`, which shows how queries are read.

use super::Twin;

/// Aliases of every form, right and wrong.
const ALIASES: &[&str] = &[
    "m=merge()",
    "newest(x)=limit(reverse(sort(x, rev)), 1)",
    "two($1, $10)=$10 or desc('$1')",
    "chain(x)=newest(newest(x))",
    "all2(all)=all and all()",
    "loop1=loop2",
    "loop2=loop1",
    "note(a1)=grep('re' ## 'v' ## a1)",
];

fn with_aliases(words: &[&str], aliases: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    for alias in aliases {
        all.extend(["--config".to_owned(), format!("revsetalias.{alias}")]);
    }
    all
}

#[track_caller]
fn same(twin: &Twin, words: &[&str], aliases: &[&str]) {
    let words = with_aliases(words, aliases);
    twin.same(&words.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn aliases_mean_the_same_changesets() {
    let twin = Twin::reading().with("HGPLAIN", "");
    for query in [
        "m",
        "m or 0",
        "newest(0:3)",
        "two(a, 1)",
        "chain(all())",
        "all2(1)",
        "loop1",
        "newest()",
        "newest(1, 2)",
        "note(1)",
        "p1(m)",
        "'m'",
    ] {
        same(&twin, &["log", "-T", "{rev}\\n", "-r", query], ALIASES);
        same(&twin, &["debugrevspec", query], ALIASES);
    }
    // Scripts see none.
    let plain = Twin::reading();
    same(&plain, &["log", "-r", "m"], ALIASES);
}

#[test]
fn wrong_aliases_are_named_alike() {
    let twin = Twin::reading().with("HGPLAIN", "");
    for alias in ["bad=1 +", "bad($1)=$1:$2", "bad(x, x)=x", "bad name=1"] {
        for query in ["bad", "bad(1)", "0"] {
            same(&twin, &["log", "-T", "{rev}\\n", "-r", query], &[alias]);
        }
    }
}

#[test]
fn queries_are_read_alike_at_each_stage() {
    let twin = Twin::reading();
    for query in [
        "0:1",
        ":",
        "0|1|2",
        "1&2|3",
        "1|(2|3)",
        "2 - 1",
        "not 1 and 0:2",
        "(0 or 1) and not public()",
        "::2 - ::1",
        "tip^ or .~1",
        "1 ## 2",
        "'a' ## 'b\\n'",
        "desc('x\\'y')",
        "first(all(), 1)",
        "()",
        "foo=bar",
        "tip[0]",
        "tip#rel[0]",
        "-(1)",
    ] {
        twin.same(&["debugrevspec", "-p", "all", "--no-show-revs", "--", query]);
    }
    for query in ["0:1", "0|1|2", "2:0", "0 or 1:2", "0 - 1", "1&2", "(0|1)-1"] {
        twin.same(&["debugrevspec", "--debug", query]);
        twin.same(&["debugrevspec", "--debug", "--optimize", query]);
        twin.same(&["debugrevspec", "-s", "--no-show-revs", query]);
    }
    twin.all_same(&[
        "debugrevspec -p parsed -p optimized 1|2",
        "debugrevspec -p unknown 0",
        "debugrevspec -p parsed --optimize 0",
        "debugrevspec --verify-optimized 0|1",
        "debugrevspec --verify-optimized --no-optimized 0|1",
        "debugrevspec --no-optimized -p all 0|1",
    ]);
}

#[test]
fn generations_are_counted_alike() {
    let twin = Twin::reading();
    for query in [
        "tip#generations[0]",
        "tip#g[-1]",
        "tip#g[-2:-1]",
        "tip^#g[-1:1]",
        "0#g[1:]",
        "tip#g[:0]",
        "1#g[:]",
        "1#g",
        "tip#g[1:-1]",
        "tip:tip^#generations[-1]",
        ".#g[a]",
        ".#g[1-2]",
        ".#g[a:b]",
        ".#genrations[0]",
        ".#x[0]",
        "[0]",
        ".#",
        ".]",
        ".#g[0",
    ] {
        twin.same(&["log", "-T", "{rev} ", "-r", query]);
    }
}

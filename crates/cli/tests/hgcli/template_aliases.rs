//! Aliases of templates.

use super::Twin;

const TEMPLATES: &[&str] = &[
    "{rn}",
    "{rn} {utcdate(date)|isodate}",
    "{date|utcdate|isodate}",
    "{files % '{rn} {file}'}",
    "{label(rn, '{rn}')}",
    "{marked('A', files)}",
    "{both(rev, node)} {both(rev)} {both}",
    "{both(rev)}",
    "{both}|",
    "{rev|both}",
    "{loop}",
    "{loop2}",
    "{bad}",
    "{twice(rev)}",
    "{rev|nosuch}",
    "{over}{'{over}'}",
    "{dict(rn, rev=rn)}",
    "{empty()}{empty}",
    "{braced}",
];

const ALIASES: &[&str] = &[
    "rn=\"{rev}:{node|short}\"",
    "utcdate(d)=localdate(d, \"UTC\")",
    "marked(c, list)=list % \"{c} {file}\\n\"",
    "both(a, b)=\"{a}/{b}\"",
    "loop=loop2",
    "loop2=\"{loop}\"",
    "bad=x(",
    "twice(a, a)=a",
    "over=rev",
    "over=node",
    "empty()=rev",
    "braced={rev}",
    "no(=1",
];

#[test]
fn aliases_stand_for_the_same_expressions() {
    let twin = Twin::reading();
    let settings: Vec<String> = ALIASES
        .iter()
        .map(|alias| format!("templatealias.{alias}"))
        .collect();
    let settings: Vec<&str> = settings
        .iter()
        .flat_map(|one| ["--config", &one[..]])
        .collect();
    let with_aliases = |words: &[&str]| {
        let words: Vec<&str> = words
            .iter()
            .copied()
            .chain(settings.iter().copied())
            .collect();
        twin.same(&words);
    };
    for template in TEMPLATES {
        with_aliases(&["log", "-r", "1", "-T", template]);
        with_aliases(&["debugtemplate", "-r", "1", "-v", template]);
    }
    with_aliases(&["branches", "-T", "{pad(branch, 7)} {over}\n"]);
    with_aliases(&[
        "log",
        "-G",
        "-r",
        "1",
        "-T",
        "x",
        "--config",
        "command-templates.graphnode={rn}",
    ]);
    for key in ["ui.logtemplate", "command-templates.log", "templates.named"] {
        let setting = format!("{key}=\"{{rn}}\\n\"");
        with_aliases(&["log", "-r", "1", "--config", &setting]);
        with_aliases(&["log", "-r", "1", "-T", "named", "--config", &setting]);
    }
}

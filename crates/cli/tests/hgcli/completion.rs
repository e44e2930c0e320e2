//! `debugcomplete` and `debugcommands`.

use super::Twin;

#[test]
fn commands_are_completed_alike() {
    let twin = Twin::reading();
    twin.all_same(&[
        "debugcomplete r",
        "debugcomplete hist",
        "debugcomplete d",
        "debugcomplete showc",
        "debugcomplete nosuch",
        "debugcomplete --options s",
    ]);
}

#[test]
fn options_are_listed_alike() {
    let twin = Twin::reading();
    for command in ["", "update", "tags", "grep"] {
        let mut words = vec!["debugcomplete", "--options"];
        words.extend((!command.is_empty()).then_some(command));
        let both = twin.run(&words);
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort_unstable();
            lines
        };
        assert_eq!(
            sorted(&both.theirs.stdout),
            sorted(&both.ours.stdout),
            "{command}"
        );
        assert_eq!(both.theirs.code, both.ours.code);
    }
    let line_of = |output: &str, name: &str| {
        let begin = format!("{name}: ");
        let line = output.lines().find(|line| line.starts_with(&begin));
        line.map(str::to_owned)
    };
    let both = twin.run(&["debugcommands"]);
    for name in ["recover", "tags", "debugp1copies", "version"] {
        let theirs = line_of(&both.theirs.stdout, name);
        assert!(theirs.is_some());
        assert_eq!(theirs, line_of(&both.ours.stdout, name));
    }
}

use varve_testkit::whole_context::{allowed, owners_of_references, references};

#[test]
fn helpers_of_commands_take_the_parts_that_they_need() {
    for (name, allowed) in allowed() {
        let found = references(&name);
        let lines = found.join("\n");
        assert!(
            found.len() <= allowed,
            "{name}: {} references to the whole Context, at most {allowed}\n{lines}",
            found.len()
        );
        assert_eq!(
            found.len(),
            allowed,
            "{name} has fewer: write the new number into whole_context.txt"
        );
    }
}

#[test]
fn all_references_but_those_of_commands_count() {
    let entry =
        "fn run(context: &mut Context, matches: &Matches) -> u8 { helper(&mut context.ui) }";
    assert_eq!(owners_of_references(entry), [""; 0]);
    let text = "
        fn run(context: &mut Context, matches: &Matches, rename: bool) {}
        fn print(context: &mut context::Context, matches: &Matches) {}
        struct Watcher<'a> { context: &'a mut Context, waker: &'a mut task::Context<'a> }
        fn run(context: &mut Context, matches: &Matches) { let name = |c: &Context| c.name(); }
        impl Printer { fn new(make: &mut dyn FnMut(&mut Context)) {} }
        fn owned(context: Context) {}
    ";
    assert_eq!(
        owners_of_references(text),
        ["run", "print", "Watcher", "run", "new"]
    );
}

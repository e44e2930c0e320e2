//! Plans as chance has them.

use super::{MARKERS, same, twin, write_plan};
use crate::hgcli::merging::random::Random;
use crate::hgcli::random_history::seeds;

fn edits_the_same(seed: u64) {
    let random = &mut Random(seed);
    let settings = [MARKERS, ""][random.below(2)];
    let twin = twin(settings);
    let mut left: Vec<usize> = (1..=5).collect();
    let mut plan = Vec::new();
    while !left.is_empty() {
        let rev = left.remove(random.below(left.len().min(2)));
        let verbs = ["pick", "pick", "fold", "roll", "drop", "mess", "edit"];
        let verb = match plan.is_empty() {
            true => "pick",
            false => verbs[random.below(verbs.len())],
        };
        plan.push(format!("{verb} {rev}"));
    }
    let plan: Vec<&str> = plan.iter().map(String::as_str).collect();
    write_plan(&twin, &plan);
    let mut line = "histedit --commands plan 1".to_owned();
    if random.below(4) == 0 {
        line += " --keep";
    }
    twin.all_same(&[&line]);
    same(&twin);
    for _ in 0..plan.len() {
        if !twin.theirs().join(".hg/histedit-state").exists() {
            return;
        }
        let end = match random.below(6) {
            0 => "histedit --abort",
            _ => "histedit --continue",
        };
        twin.each(|path| drop(varve_testkit::peers::hg().run(path, &["resolve", "-q", "-m"])));
        twin.all_same(&[end]);
        same(&twin);
    }
}

#[test]
fn plans_have_the_same_results_in_both_programs() {
    for seed in seeds(6) {
        edits_the_same(seed);
    }
}

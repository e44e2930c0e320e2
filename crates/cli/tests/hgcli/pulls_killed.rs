//! Clones and pulls whose process is killed at any moment: all is there afterwards, or nothing.

use super::elsewhere::Origin;
use super::our_hg;
use crate::killing::{is_caught, kill, looks, start};
use std::path::Path;
use std::process::Child;
use tempfile::TempDir;
use varve_testkit::peers::HgServer;
use varve_testkit::repos;

/// Moments at which one kind of command is killed.
const MOMENTS: u32 = 15;
/// So often at most, where the machine has other work and the moments pass.
const MOST: u32 = 4 * MOMENTS;
/// At how many of them it must have been at work; on a busy machine some come too late.
const LEAST: u32 = 5;

/// A repository that takes a while to be stored.
fn large() -> Origin {
    let origin = Origin::rich();
    for round in 0..4 {
        for file in 0..20 {
            let bytes = repos::noise(30_000, round * 100 + file);
            repos::write(&origin.path(), &format!("noise{file}"), &bytes);
        }
        repos::commit(origin.hg(), &origin.path(), "noise");
    }
    origin.ok("bookmark -f -r 1 mark");
    origin
}

fn run(directory: &Path, arguments: &[&str]) -> Child {
    start(&our_hg(), directory, arguments)
}

/// Whether something is being stored.
fn is_at_work(repository: &Path) -> bool {
    let signs = [".hg/store/journal", ".hg/store.new"];
    signs.iter().any(|sign| repository.join(sign).exists())
}

/// A server, and places for clones and pulls that are killed.
struct Scene {
    origin: Origin,
    server: HgServer,
    directory: TempDir,
    /// How many changesets and bookmarks there are.
    all: (usize, usize),
}

impl Scene {
    fn new() -> Scene {
        let origin = large();
        Scene {
            all: left(&origin, &origin.path()),
            server: origin.serve(),
            directory: tempfile::tempdir().unwrap(),
            origin,
        }
    }

    fn pull(&self, place: &Path) -> Child {
        run(place, &["pull", self.server.url()])
    }

    /// Kills the child of `begin` in a new place, each time a little later. Afterwards `is_right` must
    /// hold for the numbers of changesets and bookmarks, and a pull brings the missing ones.
    fn kill_at_all_moments(
        &self,
        begin: impl Fn(&Path) -> Child,
        is_right: impl Fn((usize, usize)) -> bool,
    ) {
        let place = self.directory.path().join("whole");
        let mut undisturbed = begin(&place);
        let whole = looks(&mut undisturbed, || is_at_work(&place));
        assert!(undisturbed.wait().unwrap().success());
        assert_eq!(left(&self.origin, &place), self.all);
        std::fs::remove_dir_all(place).unwrap();
        let (mut caught, mut broken) = (0, 0);
        for moment in 0..MOST {
            if moment >= MOMENTS && caught >= LEAST && broken >= LEAST {
                break;
            }
            let place = self.directory.path().join(format!("p{moment}"));
            let mut process = begin(&place);
            let more = whole * (moment % MOMENTS) / (MOMENTS + 2);
            let is_here = is_caught(&mut process, || is_at_work(&place), more);
            caught += u32::from(kill(process) && is_here);
            let found = left(&self.origin, &place);
            assert!(is_right(found), "{found:?} of {:?}", self.all);
            broken += u32::from(found != self.all);
            // Whatever the dead left behind, locks included.
            assert!(self.pull(&place).wait().unwrap().success());
            assert_eq!(left(&self.origin, &place), self.all);
            std::fs::remove_dir_all(place).unwrap();
        }
        let enough = caught >= LEAST && broken >= LEAST;
        assert!(enough, "{caught} caught and {broken} broken of {MOST}");
    }
}

/// Undoes an interrupted transaction, and gives the numbers of changesets and bookmarks. Stock `hg`
/// finds nothing wrong.
fn left(origin: &Origin, repository: &Path) -> (usize, usize) {
    if repository.join(".hg/store/journal").exists() {
        let recovered = run(repository, &["recover"]).wait().unwrap();
        assert!(recovered.success());
    }
    let hg = origin.hg();
    hg.ok(repository, &["verify", "-q"]);
    let changesets = hg.ok(repository, &["log", "-T", "."]).len();
    let bookmarks = hg.ok(repository, &["bookmarks", "-T", "."]);
    (changesets, bookmarks.matches('.').count())
}

#[test]
fn killed_pulls_bring_everything_or_nothing() {
    let scene = Scene::new();
    let begin = |place: &Path| {
        let line = ["init".as_ref(), place.as_os_str()];
        scene.origin.hg().ok(scene.directory.path(), &line);
        scene.pull(place)
    };
    scene.kill_at_all_moments(begin, |found| found == scene.all || found == (0, 0));
}

#[test]
fn killed_clones_have_everything_or_nothing() {
    let scene = Scene::new();
    for how in ["--pull", "--stream"] {
        let begin = |place: &Path| {
            let place = place.to_str().unwrap();
            let line = ["clone", "-U", how, scene.server.url(), place];
            run(scene.directory.path(), &line)
        };
        // Bookmarks come after the files of a store.
        let is_right = |found: (usize, usize)| match how {
            "--stream" => found.0 == scene.all.0 || found == (0, 0),
            _ => found == scene.all || found == (0, 0),
        };
        scene.kill_at_all_moments(begin, is_right);
    }
}

use super::*;
use crate::clock::ManualClock;
use crate::store::DirectoryStore;

const TAKEOVER: Duration = Duration::from_secs(5);

struct Scene {
    _directory: tempfile::TempDir,
    store: Arc<dyn ObjectStore>,
    clock: Arc<ManualClock>,
}

impl Scene {
    fn new() -> Scene {
        let directory = tempfile::tempdir().unwrap();
        Scene {
            store: Arc::new(DirectoryStore::new(directory.path()).unwrap()),
            _directory: directory,
            clock: Arc::default(),
        }
    }

    fn server(&self, id: &str, port: u16) -> Membership {
        let node = Node {
            id: id.to_owned(),
            address: format!("{id}:{port}"),
        };
        let clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
        Membership::new(Arc::clone(&self.store), clock, node, TAKEOVER).unwrap()
    }
}

/// Addresses of those that are seen, with a mark for those that have joined.
fn seen_by(server: &mut Membership) -> Vec<String> {
    let members = server.look().unwrap().into_iter();
    members
        .map(|member| match member.has_joined {
            true => format!("{}!", member.node.address),
            false => member.node.address,
        })
        .collect()
}

#[test]
fn servers_join_after_some_beats_and_are_gone_once_they_are_silent() {
    let scene = Scene::new();
    let [mut a, mut b] = ["a", "b"].map(|id| scene.server(id, 1));
    a.beat().unwrap();
    assert_eq!(seen_by(&mut b), ["a:1"]);
    for expected in ["b:1", "b:1", "b:1!"] {
        a.beat().unwrap();
        b.beat().unwrap();
        scene.clock.sleep(a.interval());
        assert_eq!(seen_by(&mut a)[1], expected);
    }
    assert_eq!(seen_by(&mut a), seen_by(&mut b), "all see the same");
    let shown = shown_members(scene.store.as_ref(), TAKEOVER).unwrap();
    assert_eq!(shown, a.look().unwrap(), "without a clock of its own");
    for _ in 0..9 {
        b.beat().unwrap();
    }
    assert!(
        scene.store.list(NODES).unwrap().len() <= 6,
        "old ones are removed"
    );
    assert_eq!(seen_by(&mut b), ["a:1!", "b:1!"]);
    scene.clock.sleep(TAKEOVER - Duration::from_millis(1));
    assert_eq!(seen_by(&mut b), ["a:1!", "b:1!"]);
    b.beat().unwrap();
    scene.clock.sleep(Duration::from_millis(1));
    assert_eq!(seen_by(&mut b), ["b:1!"]);
    // It was only paused.
    a.beat().unwrap();
    assert_eq!(seen_by(&mut b), ["a:1!", "b:1!"]);
    a.leave().unwrap();
    assert_eq!(seen_by(&mut b), ["b:1!"]);
}

#[test]
fn a_process_that_is_started_again_takes_the_place_of_the_one_before() {
    let scene = Scene::new();
    let [mut a, mut b] = ["a", "b"].map(|id| scene.server(id, 1));
    for _ in 0..4 {
        a.beat().unwrap();
        b.beat().unwrap();
    }
    assert_eq!(seen_by(&mut b), ["a:1!", "b:1!"]);
    let mut again = scene.server("a", 2);
    again.beat().unwrap();
    scene.clock.sleep(Duration::from_secs(1));
    assert_eq!(seen_by(&mut again), ["a:2", "b:1!"]);
    assert_eq!(seen_by(&mut b), ["a:2", "b:1!"], "one id is one server");
    // What was never ended goes as well, in the end.
    b.beat().unwrap();
    assert_eq!(seen_by(&mut again).len(), 2);
    scene.clock.sleep(TAKEOVER * FORGOTTEN_AFTER);
    again.beat().unwrap();
    assert_eq!(seen_by(&mut again), ["a:2"]);
    let left = scene.store.list(NODES).unwrap();
    assert!(
        left.iter().all(|it| it.key.starts_with(&again.own)),
        "{left:?}"
    );
}

#[test]
fn hostile_objects_name_no_server() {
    let scene = Scene::new();
    let number = "0".repeat(DIGITS);
    let odd = ["", "a/b/", "z/"].map(|directory| format!("{directory}{number}"));
    for odd in odd.iter().map(String::as_str).chain(["x", "y/1"]) {
        scene.store.create(&format!("{NODES}{odd}"), b"").unwrap();
    }
    let mut a = scene.server("a", 1);
    a.beat().unwrap();
    assert_eq!(
        seen_by(&mut a),
        ["a:1"],
        "what is no heartbeat is passed over"
    );
}

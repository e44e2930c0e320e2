//! Obsolescence markers as keys, for clients that know no bundle2.

use super::*;

/// How markers may be made and exchanged.
const SWITCHES: [&str; 4] = [
    "",
    "[experimental]\nevolution = all\n",
    "[experimental]\nevolution = all\nevolution.exchange = no\n",
    "[experimental]\nevolution = exchange\n",
];

impl Pair {
    /// Asks both servers by `debugpushkey`; both must answer the same.
    #[track_caller]
    fn keys(&self, words: &[&str]) -> Outcome {
        let [ours, theirs] = self.keys_each(words);
        assert_eq!(ours, theirs, "{words:?}");
        ours.0
    }

    fn keys_each(&self, words: &[&str]) -> [PushAnswer; 2] {
        self.urls().map(|url| {
            let line = [&["debugpushkey", &url], words].concat();
            PushAnswer(self.hg.run(self.site.path(), &line))
        })
    }

    /// The markers of both repositories, byte for byte.
    #[track_caller]
    fn same_markers(&self) -> Vec<u8> {
        let [ours, theirs] = self
            .servers()
            .map(|server| std::fs::read(server.join(".hg/store/obsstore")).unwrap_or_default());
        assert_eq!(ours, theirs);
        ours
    }

    fn mark(&self, old: &str, successors: &[&str], date: &str, options: &str) {
        for server in self.servers() {
            let mut line = vec!["debugobsolete", "--date", date, old];
            line.extend(successors);
            line.extend(words(options));
            line.extend(["--config", "experimental.evolution=all"]);
            self.hg.ok(&server, &line);
        }
    }
}

fn digits(number: usize) -> String {
    format!("{number:040x}")
}

#[test]
fn markers_are_listed_as_keys_in_parts() {
    let mut pair = Pair::new(OPEN);
    let tip = pair
        .hg
        .ok(&pair.servers()[0], &["id", "-r", "tip", "-T", "{node}"]);
    pair.keys(&["obsolete"]);
    pair.mark(&tip, &[], "7 -3600", "--record-parents -u bob");
    let two = [&digits(8)[..], &digits(2)];
    pair.mark(&digits(9), &two, "8 0", "--flags 1 -u b:c:d");
    pair.mark(&digits(10), &two[..1], "1700000000 19800", "-u \u{e4}");
    for switch in SWITCHES {
        pair.configure(&format!("{OPEN}{switch}"));
        pair.keys(&["namespaces"]);
        let listed = pair.keys(&["obsolete"]).stdout;
        assert!(listed.starts_with("dump0\t0"), "{listed}");
        assert_eq!(listed.lines().count(), 1);
    }
    // Of different lengths, so that parts end in different places.
    let stored = pair.same_markers();
    for server in pair.servers() {
        let mut file = stored.clone();
        for number in 0..400_usize {
            file.extend(marker(number, number * 7 % 256));
        }
        std::fs::write(server.join(".hg/store/obsstore"), file).unwrap();
    }
    let listed = pair.keys(&["obsolete"]).stdout;
    assert!(listed.lines().count() > 10, "{listed}");
}

/// A marker in the form of the store.
fn marker(number: usize, user: usize) -> Vec<u8> {
    let mut body = (number as f64 + 0.25).to_be_bytes().to_vec();
    body.extend([0, 30, 0, 0, 1, 3, 1]);
    body.extend([(number * 53 % 255 + 1) as u8; 20]);
    body.extend([(number % 255 + 1) as u8; 20]);
    body.extend([4, user as u8]);
    body.extend(b"user");
    body.extend(vec![b'x'; user]);
    let len = body.len() as u32 + 4;
    [&len.to_be_bytes()[..], &body].concat()
}

#[test]
fn parts_end_where_mercurial_ends_them() {
    let pair = Pair::new(OPEN);
    // In parts, each of these takes 64 bytes and those of its user, or more for the date.
    for user in 245..=255 {
        for server in pair.servers() {
            let markers = (0..64).flat_map(|number| marker(number, user));
            let file: Vec<u8> = [1].into_iter().chain(markers).collect();
            std::fs::write(server.join(".hg/store/obsstore"), file).unwrap();
        }
        pair.keys(&["obsolete"]);
    }
}

/// Value that both servers list under their only key of markers.
fn listed_value(pair: &Pair) -> String {
    let listed = pair.keys(&["obsolete"]).stdout;
    let value = listed.trim_end().strip_prefix("dump0\t");
    value.unwrap().to_owned()
}

#[test]
fn markers_are_taken_as_keys() {
    let mut pair = Pair::new(OPEN);
    pair.mark(&digits(9), &[&digits(8)], "7 0", "-u ada");
    pair.mark(&digits(9), &[&digits(8), &digits(7)], "8 0", "-u b");
    let value = listed_value(&pair);
    let words: String = ["prepushkey", "pretxnopen", "pretxnclose", "txnclose", "pushkey"]
        .iter()
        .map(|kind| {
            format!("{kind} = echo {kind}; env | grep -E '^HG_(NEW|OLD|KEY|NAMESPACE|RET|TXNNAME|PENDING)' | sort\n")
        })
        .collect();
    for hooks in [
        "",
        &format!("[hooks]\n{words}"),
        "[hooks]\nprepushkey = false\n",
    ] {
        for switch in SWITCHES {
            pair.configure(&format!("{OPEN}{switch}{hooks}"));
            for server in pair.servers() {
                let _ = std::fs::remove_file(server.join(".hg/store/obsstore"));
            }
            let takes = switch.contains("all") && !hooks.contains("false");
            for round in 0..2 {
                let [ours, theirs] = pair.keys_each(&["obsolete", "dump0", "", &value]);
                if takes || hooks.contains("false") {
                    assert_eq!(ours, theirs, "{switch} {hooks}");
                    let told = ours.0.stdout + &ours.0.stderr;
                    let new = told.contains("2 new obsolescence markers\n");
                    assert_eq!(new, takes && round == 0, "{told}");
                } else {
                    // To Mercurial's own server this is a fault of its own.
                    assert_eq!([ours.0.code, theirs.0.code], [Some(255); 2]);
                    let why = "creating obsolete markers is not enabled on this repo";
                    assert!(ours.0.stderr.contains(why), "{}", ours.0.stderr);
                }
                assert_eq!(pair.same_markers().is_empty(), !takes);
            }
        }
    }
}

#[test]
fn keys_that_bring_no_markers_change_nothing() {
    let pair = Pair::new(&format!("{OPEN}{}", SWITCHES[1]));
    pair.mark(&digits(9), &[&digits(8)], "7 0", "-u ada");
    let value = listed_value(&pair);
    let before = pair.same_markers();
    for [key, old] in [
        ["bump0", ""],
        ["b'\"\\", ""],
        ["it's", ""],
        ["dump0", "x"],
        ["dump0", &value],
    ] {
        let told = pair.keys(&["obsolete", key, old, &value]);
        assert!(
            told.code == Some(1) && told.stdout.ends_with("False\n"),
            "{told:?}"
        );
    }
    pair.keys(&["nowhere", "dump0", "", &value]);
    // Mercurial's server falls over these.
    let cut = &value[..value.len() - 20];
    let null = "0096101009C61O0000000000000000000000000";
    for bad in ["", "0", "\"", "~~~~~", cut, null, "0RR91"] {
        let [ours, theirs] = pair.keys_each(&["obsolete", "dump0", "", bad]);
        assert_eq!([ours.0.code, theirs.0.code], [Some(255); 2], "{bad}");
        assert!(
            ours.0.stderr.contains("bad obsolescence marker detected"),
            "{}",
            ours.0.stderr
        );
    }
    assert_eq!(pair.same_markers(), before);
    pair.same();
}

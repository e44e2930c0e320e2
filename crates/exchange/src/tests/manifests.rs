//! Lists of clone bundles: every listed bundle is found, and the best of them is chosen.

use crate::client::clone_bundles::{BundlePreferences, Candidate, Candidates};
use crate::format::clone_bundle_manifest::{CloneBundleManifest, EntryAttributes, INLINE};
use crate::format::quoting::QUOTED;
use percent_encoding::utf8_percent_encode;
use proptest::collection::vec;
use proptest::prelude::*;

fn attributes() -> impl Strategy<Value = EntryAttributes> {
    vec(("[A-Za-z =%\n\t]{1,9}", "\\PC{0,12}"), 0..4)
}

fn line(url: &str, attributes: &EntryAttributes) -> String {
    let quoted = |text: &str| utf8_percent_encode(text, QUOTED).to_string();
    let pairs = attributes
        .iter()
        .map(|(key, value)| format!(" {}={}", quoted(key), quoted(value)));
    format!("{url}{}\n", pairs.collect::<String>())
}

fn manifest(text: &str) -> CloneBundleManifest {
    CloneBundleManifest::new(text.as_bytes().to_vec())
}

proptest! {
    #[test]
    fn entries_are_read_as_they_were_written(
        entries in vec(("[a-z]{1,5}://[a-z/]{1,9}", attributes()), 0..6), blank: bool,
    ) {
        let gap = if blank { "\n" } else { "" };
        let text: String = entries.iter().map(|(url, attributes)| line(url, attributes) + gap).collect();
        prop_assert_eq!(manifest(&text).entries().collect::<Vec<_>>(), entries);
    }

    #[test]
    fn only_inline_bundles_are_served_by_name_and_left_out_for_old_clients(
        names in vec(("[a-z0-9.-]{1,9}", any::<bool>()), 0..6), asked in "[a-z0-9.-]{1,9}",
    ) {
        let url = |(name, inline): &(String, bool)| match inline {
            true => format!("{INLINE}{name}"),
            false => format!("http://h/{name}"),
        };
        let text: String = names.iter().map(|entry| format!("{} a=b\n", url(entry))).collect();
        let manifest = manifest(&text);
        for (name, inline) in &names {
            let is_inline = *inline || names.contains(&(name.clone(), true));
            prop_assert_eq!(manifest.lists(name), is_inline);
        }
        prop_assert_eq!(manifest.lists(&asked), names.contains(&(asked.clone(), true)));
        let old = CloneBundleManifest::new(manifest.without_inline());
        let left: Vec<String> = old.entries().map(|(url, _)| url).collect();
        let expected: Vec<String> = names.iter().filter(|(_, inline)| !inline).map(url).collect();
        prop_assert_eq!(left, expected);
    }

    #[test]
    fn own_lists_are_told_with_the_place_of_their_files(
        count in 0_usize..100_000, hash in "[0-9a-f]{12}", words in vec("[a-z0-9-]{1,9}", 1..4), https: bool,
    ) {
        let text: String = words
            .iter()
            .map(|word| format!("{INLINE}varve-{count}-{hash}-{word}.hg BUNDLESPEC=zstd-v2\n"))
            .collect();
        let own = manifest(&text);
        let id = format!("varve-{count}-{hash}");
        prop_assert_eq!(own.own_id(), Some((id.as_str(), count)));
        let at = if https { "https://h/b" } else { "http://h/b" };
        let told = CloneBundleManifest::new(own.located(Some(at)));
        for ((url, attributes), word) in told.entries().zip(&words) {
            prop_assert_eq!(url, format!("{at}/{id}-{word}.hg"));
            let needs_name = attributes.contains(&("REQUIRESNI".to_owned(), "true".to_owned()));
            prop_assert_eq!(needs_name, https);
            prop_assert_eq!(&attributes[0], &("BUNDLESPEC".to_owned(), "zstd-v2".to_owned()));
        }
        prop_assert_eq!(told.entries().count(), words.len());
        // One line of another program, or of other bundles, and none of it is Varve's.
        for foreign in ["http://h/x\n".to_owned(), format!("{INLINE}varve-{}-{hash}-x.hg\n", count + 1)] {
            let mixed = manifest(&(text.clone() + &foreign));
            prop_assert!(!mixed.is_own());
            prop_assert_eq!(mixed.located(Some(at)), mixed.text());
        }
    }

    /// Against a comparison of one preference after the other; equal bundles keep the order of the list.
    #[test]
    fn preferred_bundles_come_first(
        entries in vec((0_u8..3, 0_u8..3), 0..9), preferred in vec((0_u8..3, 0_u8..3), 0..4),
    ) {
        let text: String = entries
            .iter()
            .enumerate()
            .map(|(number, (a, b))| format!("http://h/{number} 0={a} 1={b}\n"))
            .collect();
        let mut found = Candidates::of(&manifest(&text), &BundlePreferences::default());
        let wanted: Vec<(String, String)> =
            preferred.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        found.sort_by(&wanted);
        let fits = |candidate: &Candidate, (key, value): &(String, String)| candidate.value(key) == Some(value.as_str());
        let number = |candidate: &Candidate| candidate.url[9..].parse::<usize>().unwrap();
        prop_assert_eq!(found.usable.len(), entries.len());
        for pair in found.usable.windows(2) {
            let decides = wanted.iter().find(|wish| fits(&pair[0], wish) != fits(&pair[1], wish));
            match decides {
                Some(wish) => prop_assert!(fits(&pair[0], wish)),
                None => prop_assert!(number(&pair[0]) < number(&pair[1])),
            }
        }
    }

    #[test]
    fn no_more_than_two_thirds_of_memory_may_be_needed(memory in 3_u64..1 << 40, needed in 0_u64..1 << 40) {
        let text = format!("http://h/a BUNDLESPEC=zstd-v2 REQUIREDRAM={needed}\n");
        let preferences = BundlePreferences { streamed: false, memory: Some(memory) };
        let found = Candidates::of(&manifest(&text), &preferences);
        prop_assert_eq!(found.usable.len() == 1, needed <= memory / 3 * 2);
        let unknown = Candidates::of(&manifest(&text), &BundlePreferences::default());
        prop_assert_eq!(unknown.usable.len(), 1);
    }
}

#[test]
fn entries_that_cannot_be_used_say_why() {
    let rejected = |text: &str, streamed| {
        let preferences = BundlePreferences {
            streamed,
            memory: None,
        };
        Candidates::of(&manifest(text), &preferences)
            .rejected
            .concat()
    };
    for (text, streamed, words) in [
        (
            "file:///x",
            false,
            "filtering file:///x because not a supported clonebundle scheme",
        ),
        (
            "HTTP://h/x",
            false,
            "filtering HTTP://h/x because not a supported clonebundle scheme",
        ),
        (
            "http://h BUNDLESPEC=gzip-v2 REQUIREDRAM=much",
            false,
            "filtering http://h due to a bad REQUIREDRAM attribute",
        ),
        (
            "http://h",
            true,
            "filtering http://h because cannot determine if a stream clone bundle",
        ),
        (
            "http://h BUNDLESPEC=gzip-v2",
            true,
            "filtering http://h because it is not a stream clonebundle",
        ),
        (
            "http://h BUNDLESPEC=gzip-v2;phases=maybe",
            false,
            "parameter phases should be a boolean ('maybe')",
        ),
        ("http://h BUNDLESPEC=none-v2;stream%3Dv2", true, ""),
        (
            "http://h BUNDLESPEC=none-packed1;requirements%3Drevlogv1",
            true,
            "",
        ),
        ("http://h a BUNDLESPEC=x BUNDLESPEC=gzip-v1", false, ""),
    ] {
        assert_eq!(rejected(text, streamed), words, "{text}");
    }
}

//! The choice of an owner for each database, by rendezvous hashing: of all candidates the one owns whose hash together with the
//! database's name is largest. All servers that see the same candidates choose the same owner without a word, and a candidate that
//! comes or goes moves only the databases that it gets or had.

use crate::node::Node;
use xxhash_rust::xxh3::xxh3_64;

/// Servers that may own databases, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    candidates: Vec<Node>,
    /// Hashes of their ids.
    seeds: Vec<u64>,
}

impl Placement {
    /// Their order has no meaning; one id counts once.
    pub fn new(candidates: impl IntoIterator<Item = Node>) -> Placement {
        let mut candidates: Vec<Node> = candidates.into_iter().collect();
        candidates.sort_by(|one, other| one.id.cmp(&other.id));
        candidates.dedup_by(|one, other| one.id == other.id);
        let seeds = candidates.iter().map(|node| xxh3_64(node.id.as_bytes()));
        Placement {
            seeds: seeds.collect(),
            candidates,
        }
    }

    /// The server that should own a database; `None` without candidates.
    pub fn owner_of(&self, database: &str) -> Option<&Node> {
        // Servers of all versions must agree on this.
        let hash = xxh3_64(database.as_bytes());
        let weight = |seed: u64| mix(seed ^ hash);
        let weighed = self
            .seeds
            .iter()
            .map(|seed| weight(*seed))
            .zip(&self.candidates);
        // Of equal weights, the last in the order of ids counts.
        let heaviest = weighed.max_by_key(|(weight, _)| *weight);
        heaviest.map(|(_, node)| node)
    }

    /// All candidates.
    pub fn candidates(&self) -> &[Node] {
        &self.candidates
    }
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): each bit of its argument changes about half of the result.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATABASES: usize = 10_000;

    fn nodes(count: usize) -> Vec<Node> {
        let node = |number: usize| Node {
            id: format!("{:032x}", number * 7919),
            address: format!("h{number}:1"),
        };
        (0..count).map(node).collect()
    }

    fn owners(placement: &Placement) -> Vec<String> {
        let owner = |number| {
            let owner = placement.owner_of(&format!("db-{number}")).unwrap();
            owner.id.clone()
        };
        (0..DATABASES).map(owner).collect()
    }

    #[test]
    fn a_node_that_joins_gets_its_share_and_nothing_else_moves() {
        for count in [1, 2, 3, 9] {
            let before = owners(&Placement::new(nodes(count)));
            let after = owners(&Placement::new(nodes(count + 1)));
            let joined = &nodes(count + 1)[count].id;
            let moved: Vec<_> = before
                .iter()
                .zip(&after)
                .filter(|(before, after)| before != after)
                .collect();
            assert!(moved.iter().all(|(_, after)| *after == joined));
            let share = DATABASES / (count + 1);
            let bounds = share * 9 / 10..=share * 11 / 10;
            assert!(bounds.contains(&moved.len()), "{} of {share}", moved.len());
        }
    }

    #[test]
    fn short_names_are_spread_as_well() {
        let placement = Placement::new(nodes(3));
        let letters = || (b'a'..=b'z').map(char::from);
        let names = letters().flat_map(|one| letters().map(move |other| format!("{one}{other}")));
        let owner = |name: String| placement.owner_of(&name).unwrap().address.clone();
        let owners: Vec<String> = names.map(owner).collect();
        for address in ["h0:1", "h1:1", "h2:1"] {
            let share = owners.iter().filter(|owner| *owner == address).count();
            assert!((180..=270).contains(&share), "{address} has {share} of 676");
        }
    }

    #[test]
    fn the_order_in_which_nodes_are_seen_has_no_meaning() {
        let mut turned = nodes(5);
        turned.reverse();
        turned.push(nodes(5)[2].clone());
        assert_eq!(Placement::new(turned), Placement::new(nodes(5)));
    }

    /// Servers of different versions share stores.
    #[test]
    fn owners_are_those_of_earlier_versions() {
        let placement = Placement::new(nodes(3));
        let owner = |name: &str| placement.owner_of(name).unwrap().address.clone();
        let found = ["a", "b", "c", "a/b", "db-17", "orders"].map(owner);
        assert_eq!(found, ["h1:1", "h1:1", "h0:1", "h2:1", "h1:1", "h1:1"]);
        assert!(Placement::default().owner_of("a").is_none());
    }
}

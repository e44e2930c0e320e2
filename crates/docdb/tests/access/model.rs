//! Random edits by random users, against a list of leaves.

use super::{changed, create, listed, member, seen_by};
use crate::compaction::compact;
use crate::verify::sample::findings;
use crate::{PATH, edit, options};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use varve_base::MemoryStorage;
use varve_docdb::{AccessError, Database, EditError, Mode, Rev, Viewer};

type Names = BTreeSet<&'static str>;

#[derive(Clone, Debug)]
struct Leaf {
    rev: Rev,
    deleted: bool,
    seq: u64,
    names: Names,
}

struct User {
    viewer: Viewer,
    /// Empty for the admin.
    names: Names,
}

impl User {
    fn is_admin(&self) -> bool {
        self.names.is_empty()
    }

    fn sees(&self, names: &Names) -> bool {
        self.is_admin() || !self.names.is_disjoint(names)
    }
}

fn users() -> Vec<User> {
    let user = |viewer, names: &[&'static str]| User {
        viewer,
        names: names.iter().copied().collect(),
    };
    vec![
        user(Viewer::ALL, &[]),
        user(member("ann", &["team"]), &["ann", "team", "_users"]),
        user(
            member("bob", &["team", "staff"]),
            &["bob", "team", "staff", "_users"],
        ),
        user(member("eve", &[]), &["eve", "_users"]),
    ]
}

#[derive(Default)]
struct Model {
    documents: BTreeMap<String, Vec<Leaf>>,
    seq: u64,
}

fn winner<'l>(leaves: impl Iterator<Item = &'l Leaf>) -> Option<&'l Leaf> {
    leaves.max_by_key(|leaf| (!leaf.deleted, leaf.rev.clone()))
}

impl Model {
    fn visible<'m>(&'m self, id: &str, user: &'m User) -> Vec<&'m Leaf> {
        let leaves = self.documents.get(id).into_iter().flatten();
        leaves.filter(|leaf| user.sees(&leaf.names)).collect()
    }

    /// The parent of the revision that an edit makes.
    fn parent(&self, by: &User, wanted: &Wanted) -> Result<Option<Leaf>, EditError> {
        let visible = self.visible(&wanted.id, by);
        let has_leaves = self
            .documents
            .get(&wanted.id)
            .is_some_and(|leaves| !leaves.is_empty());
        if has_leaves && visible.is_empty() {
            return Err(AccessError::Foreign.into());
        }
        if wanted.is_branch {
            let all = self.documents.get(&wanted.id).into_iter().flatten();
            let parent = all
                .into_iter()
                .find(|leaf| Some(&leaf.rev) == wanted.rev.as_ref());
            return match parent {
                Some(parent) if !by.sees(&parent.names) => Err(AccessError::Foreign.into()),
                parent => Ok(parent.cloned()),
            };
        }
        match (winner(visible.iter().copied()), &wanted.rev) {
            (None, None) => Ok(None),
            (Some(last), None) if last.deleted && !wanted.deleted => Ok(Some(last.clone())),
            (Some(last), Some(rev)) if !last.deleted => {
                let leaf = visible.into_iter().find(|leaf| leaf.rev == *rev);
                leaf.cloned().map(Some).ok_or(EditError::Conflict)
            }
            _ => Err(EditError::Conflict),
        }
    }

    /// The parent of the new revision, and its names.
    fn judge(&self, by: &User, wanted: &Wanted) -> Result<(Option<Leaf>, Names), EditError> {
        match &wanted.names {
            Some(names) if !by.sees(names) => return Err(AccessError::AuthorNotNamed.into()),
            None if !by.is_admin() && !wanted.deleted => {
                return Err(AccessError::AuthorNotNamed.into());
            }
            _ => {}
        }
        let parent = self.parent(by, wanted)?;
        let kept = parent.as_ref().map(|parent| parent.names.clone());
        let Some(names) = wanted.names.clone() else {
            let own = wanted.own.into_iter().collect();
            let names = if wanted.deleted {
                kept.unwrap_or(own)
            } else {
                Names::new()
            };
            return Ok((parent, names));
        };
        match by.is_admin() || kept.unwrap_or_default().is_subset(&names) {
            true => Ok((parent, names)),
            false => Err(AccessError::Narrowed.into()),
        }
    }

    fn check(&self, db: &Database) {
        for user in users() {
            let snapshot = seen_by(db, &user.viewer);
            let (mut rows, mut changes) = (Vec::new(), Vec::new());
            for id in self.documents.keys() {
                let visible = self.visible(id, &user);
                let known = snapshot.document(id).unwrap();
                let leaves = known.iter().flat_map(|known| known.tree().leaves());
                let leaves: BTreeSet<Rev> = leaves.map(|leaf| leaf.rev.clone()).collect();
                let expected = visible.iter().map(|leaf| leaf.rev.clone()).collect();
                assert_eq!(leaves, expected, "{id} {:?}", user.names);
                let Some(first) = winner(visible.iter().copied()) else {
                    continue;
                };
                let rev = first.rev.to_string();
                if !first.deleted {
                    rows.push((id.clone(), rev.clone()));
                }
                let seq = visible.iter().map(|leaf| leaf.seq).max().unwrap();
                changes.push((seq, id.clone(), rev));
            }
            if !user.is_admin() {
                changes.sort();
                assert_eq!(changed(&snapshot, 0), changes, "{:?}", user.names);
                let middle = self.seq / 2;
                changes.retain(|(seq, ..)| *seq > middle);
                assert_eq!(changed(&snapshot, middle), changes);
                assert_eq!(
                    snapshot.count_changes(middle).unwrap(),
                    changes.len() as u64
                );
            }
            assert_eq!(snapshot.info().unwrap().doc_count, rows.len() as u64);
            assert_eq!(listed(&snapshot), rows, "{:?}", user.names);
        }
    }
}

struct Wanted {
    id: String,
    rev: Option<Rev>,
    deleted: bool,
    names: Option<Names>,
    own: Option<&'static str>,
    /// The edit brings its revision, as a replication does.
    is_branch: bool,
}

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn names(&mut self, by: &User) -> Names {
        let every = ["ann", "bob", "eve", "team", "staff", "_users"];
        let mut names: Names = every.into_iter().filter(|_| self.below(3) == 0).collect();
        // Mostly what is allowed.
        if self.below(6) > 0 {
            names.extend(by.names.first());
        }
        names
    }

    fn wanted(&mut self, model: &Model, by: &User) -> Wanted {
        let id = format!("d{}", self.below(7));
        let visible = model.visible(&id, by);
        let all = model.documents.get(&id).into_iter().flatten();
        let of_any: Vec<&Leaf> = all.collect();
        let leaves = if self.below(5) == 0 { of_any } else { visible };
        let rev = match leaves.len() as u64 {
            0 => None,
            count if self.below(8) > 0 => Some(leaves[self.below(count) as usize].rev.clone()),
            _ => None,
        };
        let deleted = rev.is_some() && self.below(4) == 0;
        let mut names = (!deleted || self.below(2) == 0).then(|| self.names(by));
        if let (Some(names), true) = (&mut names, self.below(4) > 0) {
            let parent = leaves.iter().find(|leaf| Some(&leaf.rev) == rev.as_ref());
            names.extend(
                parent
                    .into_iter()
                    .flat_map(|leaf| leaf.names.iter().copied()),
            );
        }
        Wanted {
            id,
            rev,
            deleted,
            names,
            own: by
                .names
                .iter()
                .copied()
                .find(|name| ["ann", "bob", "eve"].contains(name)),
            is_branch: self.below(3) == 0,
        }
    }
}

fn text_of(wanted: &Wanted, number: u64) -> String {
    let mut text = format!(r#"{{"_id":"{}","n":{number}"#, wanted.id);
    match (&wanted.rev, wanted.is_branch) {
        (Some(rev), false) => text += &format!(r#","_rev":"{rev}""#),
        (None, false) => {}
        (parent, true) => {
            let start = parent.as_ref().map_or(1, |rev| rev.generation + 1);
            let digest = parent.as_ref().map(|rev| format!(r#","{}""#, rev.digest));
            let digest = digest.unwrap_or_default();
            text +=
                &format!(r#","_revisions":{{"start":{start},"ids":["{number:032x}"{digest}]}}"#);
        }
    }
    if wanted.deleted {
        text += r#","_deleted":true"#;
    }
    if let Some(names) = &wanted.names {
        let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
        text += &format!(r#","_access":[{}]"#, names.join(","));
    }
    text + "}"
}

fn step(db: &Database, model: &mut Model, numbers: &mut Numbers, number: u64) -> bool {
    let users = users();
    let by = &users[numbers.below(users.len() as u64) as usize];
    let wanted = numbers.wanted(model, by);
    let mode = if wanted.is_branch {
        Mode::Replicated
    } else {
        Mode::Interactive
    };
    let text = text_of(&wanted, number);
    let outcome = db
        .update_one(edit(&text).written_by(&by.viewer), mode)
        .unwrap();
    let expected = model.judge(by, &wanted);
    let (accepted, (parent, names)) = match (outcome, expected) {
        (Ok(accepted), Ok(expected)) => (accepted, expected),
        (outcome, expected) => {
            assert_eq!(outcome.err(), expected.err(), "{text} by {:?}", by.names);
            return false;
        }
    };
    model.seq += 1;
    let leaves = model.documents.entry(wanted.id).or_default();
    leaves.retain(|leaf| Some(&leaf.rev) != parent.as_ref().map(|parent| &parent.rev));
    leaves.push(Leaf {
        rev: accepted.rev,
        deleted: wanted.deleted,
        seq: model.seq,
        names,
    });
    true
}

fn purge(db: &Database, model: &mut Model, numbers: &mut Numbers) {
    let id = format!("d{}", numbers.below(7));
    let Some(leaves) = model
        .documents
        .get_mut(&id)
        .filter(|leaves| !leaves.is_empty())
    else {
        return;
    };
    let leaf = leaves.remove(numbers.below(leaves.len() as u64) as usize);
    db.purge(BTreeMap::from([(id, vec![leaf.rev])])).unwrap();
    model.seq += 1;
}

#[test]
fn every_viewer_sees_what_a_list_of_leaves_says() {
    let mut accepted = 0;
    for seed in 1..=12_u64 {
        let storage = MemoryStorage::default();
        let mut db = create(storage.clone());
        let (mut model, mut numbers) = (
            Model::default(),
            Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        );
        for number in 0..120 {
            accepted += u32::from(step(&db, &mut model, &mut numbers, number));
            match numbers.below(40) {
                0 => drop(compact(&db)),
                1 | 2 => purge(&db, &mut model, &mut numbers),
                3 => {
                    drop(db);
                    let shared = Arc::new(storage.clone());
                    db = Database::open(shared, Path::new(PATH), &options()).unwrap();
                }
                _ => {}
            }
            if number % 5 == 0 {
                model.check(&db);
            }
        }
        model.check(&db);
        drop(db);
        assert_eq!(findings(&storage, PATH).unwrap().1, []);
    }
    assert!(accepted > 500, "only {accepted} edits were accepted");
}

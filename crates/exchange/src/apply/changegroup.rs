//! A changegroup, group by group.

use super::{Application, BundleEvent};
use crate::ExchangeError;
use crate::format::changegroup::NodeBytes;
use crate::format::changegroup::{ChangegroupReader, DeltaHeader, Group};
use crate::format::input::Finish;
use std::io::Read;
use varve_base::Unit;
use varve_repo::{NewRevision, Node, Phase};

/// Digits of a node in messages.
const SHORT: usize = 12;

impl Application<'_> {
    pub(super) fn changegroup<R: Read + Finish>(
        &mut self,
        mut reader: ChangegroupReader<R>,
        in_bundle2: bool,
        phase: Phase,
    ) -> Result<i64, ExchangeError> {
        let origin = self.origin(in_bundle2);
        let publishing = (self.options.push.as_ref()).is_some_and(|push| push.publishing);
        let phase = if publishing { Phase::Public } else { phase };
        let mut published = Vec::new();
        self.receiver()?.begin_changegroup(&origin, phase)?;
        self.step("adding changesets");
        let mut patch = Vec::new();
        while let Some(group) = reader.next_group()? {
            if let Group::File(path) = &group {
                self.receiver()?.begin_file(path)?;
                self.debug(|| [b"adding ", &path[..], b" revisions\n"].concat());
            }
            while let Some(header) = reader.next_delta(&mut patch)? {
                self.options
                    .stop
                    .check()
                    .map_err(varve_repo::RepoError::from)?;
                let new = revision(&header, &patch);
                let receiver = self.receiver()?;
                match group {
                    Group::Changesets => {
                        let is_new = !receiver.knows(&new.node);
                        receiver.changeset(&new)?;
                        if is_new {
                            self.debug(|| add_changeset(&new.node));
                        }
                        published.extend(publishing.then_some(new.node));
                    }
                    Group::Manifests => receiver.manifest(&new)?,
                    Group::File(_) => receiver.file_revision(&new)?,
                }
                if !matches!(group, Group::File(_)) {
                    self.options.progress.advance(1);
                }
            }
            self.send_interrupting_output();
            match group {
                Group::File(_) => self.options.progress.advance(1),
                _ => self.receiver()?.end_group()?,
            }
            match group {
                Group::Changesets => self.next_step("adding manifests"),
                Group::Manifests => self.next_step("adding file changes"),
                Group::File(_) => {}
            }
        }
        self.options.progress.end();
        let receiver = self.receiver()?;
        let heads = receiver.end_changegroup()?;
        // With their ancestors, and also those that were here before.
        receiver.lower_phases(Phase::Public, &published);
        Ok(heads)
    }

    fn next_step(&mut self, step: &'static str) {
        self.options.progress.end();
        self.step(step);
    }

    fn step(&mut self, step: &'static str) {
        (self.options.on_event)(BundleEvent::Step(step));
        self.options.progress.begin(step, Unit::Items, None);
    }
}

fn add_changeset(node: &Node) -> Vec<u8> {
    format!("add changeset {}\n", &node.to_string()[..SHORT]).into_bytes()
}

fn revision<'p>(header: &DeltaHeader, patch: &'p [u8]) -> NewRevision<'p> {
    let node = |bytes: NodeBytes| Node(bytes);
    NewRevision {
        node: node(header.node),
        parents: [node(header.p1), node(header.p2)],
        base: node(header.base),
        changeset: node(header.changeset),
        flags: header.flags,
        patch,
    }
}

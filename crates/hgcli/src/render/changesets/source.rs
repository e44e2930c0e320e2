//! Access of template functions to the repository of a changeset.

use super::keywords::OfChangeset;
use crate::context::matching::relative_to;
use crate::context::revision::{abort, aliases};
use crate::render::changesets::latest::Latest;
use crate::render::diff::{Comparison, DiffedFile};
use crate::render::formatter::Value;
use crate::render::templates::{Keywords, TemplateData};
use crate::ui::{Abort, clock};
use std::collections::HashSet;
use std::sync::Arc;
use varve_lang::patterns::{
    FileResolver, MatchRequest, Matcher, NameCheck, PatternKind, RegexEngine,
};
use varve_repo::fileset::FilesetEvaluator;
use varve_repo::{LookupError, Node, Rev};
use varve_revset::{Engine, QueryContext, WORKING_COPY};
use varve_workdir::filesets::FilesetTarget;

/// Digits of nodes in the headers of differences.
const DIGITS: usize = 12;

impl OfChangeset<'_> {
    fn matcher(
        &self,
        patterns: &[Vec<u8>],
        include: &[Vec<u8>],
        exclude: &[Vec<u8>],
    ) -> Result<Matcher, Abort> {
        let target = match self.subject.rev {
            Some(WORKING_COPY) => FilesetTarget::Working,
            rev => FilesetTarget::Rev(rev),
        };
        let files = self.printer.files_at(target).map(FilesetEvaluator::new);
        let request = MatchRequest {
            root: self.printer.view.root(),
            cwd: &self.printer.cwd,
            patterns,
            include,
            exclude,
            default: PatternKind::Glob,
            engine: RegexEngine::Backtracking,
            files: files.as_ref().map(|files| files as &dyn FileResolver),
        };
        Ok(Matcher::new(&request, &NameCheck)?)
    }

    /// True if a changeset is the only one of those of `experimental.revisions.disambiguatewithin` whose node begins so.
    fn is_preferred(&self, rev: Option<Rev>, prefix: &[u8]) -> bool {
        let changelog = self.printer.view.changelog();
        let among = self.printer.preferred.as_deref();
        let (Some(rev), Some(among)) = (rev, among) else {
            return false;
        };
        let begins = |rev: &Rev| changelog.node(*rev).to_hex().starts_with(prefix);
        among.contains(&rev) && among.iter().filter(|rev| begins(rev)).count() == 1
    }

    fn engine(&self) -> Engine<'_> {
        Engine::new(QueryContext {
            bundled_from: None,
            preferred: self.printer.preferred.clone(),
            new_commit_phase: self.printer.new_commit_phase(),
            view: &self.printer.view,
            parents: self.printer.working.clone(),
            root: self.printer.view.root().to_owned(),
            cwd: self.printer.cwd.clone(),
            clock: clock::clock(),
            aliases: Arc::new(aliases(&self.printer.config)),
            files: self.printer.files_at(FilesetTarget::Working),
            peers: self.printer.peers.clone(),
            working: self.printer.working_source.clone(),
        })
    }

    /// Changes of the changeset to files that match.
    fn compared(&self, matcher: &Matcher) -> Result<(Comparison<'_>, Vec<DiffedFile>), Abort> {
        let options = &self.printer.plain_diff;
        let rev = self.subject.rev;
        self.printer.compared(rev, options, DIGITS, matcher)
    }

    /// `3: +2/-1`.
    pub(super) fn diffstat(&self) -> Result<Value, Abort> {
        let everything = Matcher::everything();
        let options = &self.printer.plain_diff;
        options.check_parents(&self.printer.view, self.subject.rev)?;
        let (comparison, changes) = self.compared(&everything)?;
        let stats = comparison.stats(&changes)?;
        let added: usize = stats.iter().map(|stat| stat.added).sum();
        let removed: usize = stats.iter().map(|stat| stat.removed).sum();
        Ok(Value::from(format!("{}: +{added}/-{removed}", stats.len())))
    }
}

impl TemplateData for OfChangeset<'_> {
    fn of_changeset(&self, rev: Option<Rev>, name: &str) -> Result<Option<Value>, Abort> {
        self.printer.keyword(rev, name)
    }

    fn at_changeset(
        &self,
        rev: Option<Rev>,
        look: &mut dyn FnMut(&dyn Keywords) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        self.printer.at(rev, look)
    }

    fn of_file(&self, path: &[u8], name: &str) -> Result<Option<Value>, Abort> {
        self.about_file(path, name)
    }

    fn node_digits(&self) -> usize {
        self.digits()
    }

    fn revset(&self, query: &[u8]) -> Result<Vec<Option<Rev>>, Abort> {
        let engine = self.engine();
        let set = engine.query(query).map_err(|error| abort(error, query))?;
        let members = set.all_members(&engine);
        members.map(|member| Ok(member?)).collect()
    }

    fn subset_parents(
        &self,
        rev: i64,
        subset: &HashSet<Option<Rev>>,
    ) -> Result<Vec<Option<Rev>>, Abort> {
        let rev = match rev {
            -1 => None,
            rev if rev == i64::from(WORKING_COPY.0) => Some(WORKING_COPY),
            rev => match self.printer.view.changelog().rev_at(rev) {
                Some(rev) => Some(rev),
                None => return Ok(Vec::new()),
            },
        };
        Ok(self.printer.parents_in_subset(rev, subset))
    }

    fn shortest(&self, node: &[u8], least: usize) -> Result<Vec<u8>, Abort> {
        let digits = 2 * Node::LEN;
        let changelog = self.printer.view.changelog();
        let is_null = Node::from_hex(node).is_some_and(|node| node.is_null());
        let known = Node::from_hex(node).and_then(|node| changelog.rev(&node));
        // The node of the working copy has that digit only.
        let is_working = !node.is_empty() && node.iter().all(|digit| *digit == b'f');
        let working = [b'f'; 2 * Node::LEN];
        let found = self.printer.view.lookup(node);
        let is_working = is_working && matches!(found, Err(LookupError::Unknown(_)));
        let node = match is_working && node.len() <= digits {
            true => &working[..],
            false => node,
        };
        let is_special = is_null || node == working;
        let config = &self.printer.config;
        let has_mark = config.boolean("experimental", "revisions.prefixhexnode", false)?;
        if node.len() != digits || (known.is_none() && !is_special) {
            return Ok(node.to_vec());
        }
        for len in least..digits {
            let prefix = &node[..len];
            let is_number = prefix.iter().all(u8::is_ascii_digit)
                && (prefix[0] != b'0' || len == 1)
                && std::str::from_utf8(prefix)
                    .ok()
                    .and_then(|digits| digits.parse::<usize>().ok())
                    .is_some_and(|number| number < changelog.len());
            // A number is found before the node that begins with its digits.
            let marked = [b"x", prefix].concat();
            let sought = if is_number { &marked[..] } else { prefix };
            let found = self.printer.view.lookup(sought);
            let is_taken = match found {
                Err(LookupError::Ambiguous(_)) if self.is_preferred(known, prefix) => false,
                Err(LookupError::Ambiguous(_)) => true,
                // Of all changesets the nodes of these two are none.
                Ok(other) => is_special && !other.is_null(),
                Err(_) => false,
            };
            match (is_taken, is_number) {
                (false, false) => return Ok(prefix.to_vec()),
                // That the digits are no number is said by a letter instead of by more digits.
                (false, true) if has_mark => return Ok(marked),
                _ => {}
            }
        }
        Ok(node.to_vec())
    }

    fn relative(&self, path: &[u8]) -> Result<Vec<u8>, Abort> {
        let (root, cwd) = (self.printer.view.root(), &self.printer.cwd);
        Ok(relative_to(root, cwd, path))
    }

    fn in_utf8(&self, text: &[u8]) -> Vec<u8> {
        let decoded = self.printer.encoding.decode(text);
        decoded.unwrap_or_else(|_| text.to_vec())
    }

    fn label(&self, labels: &str, text: &[u8]) -> Vec<u8> {
        self.printer.painter.paint(labels, text)
    }

    fn setting(&self, section: &[u8], key: &[u8]) -> Option<Vec<u8>> {
        let (section, key) = (std::str::from_utf8(section), std::str::from_utf8(key));
        let value = self.printer.config.get(section.ok()?, key.ok()?);
        value.map(<[u8]>::to_vec)
    }

    fn files(&self, pattern: &[u8]) -> Result<Vec<Vec<u8>>, Abort> {
        let matcher = self.matcher(&[pattern.to_vec()], &[], &[])?;
        if self.subject.rev == Some(WORKING_COPY) {
            let tracked = self.printer.uncommitted()?.files.tracked.iter();
            let matching = tracked.filter(|path| matcher.matches(path));
            return Ok(matching.cloned().collect());
        }
        let view = &self.printer.view;
        let text = view.manifest_text(self.subject.rev)?;
        let mut files = Vec::new();
        for entry in view.manifest_entries(&text) {
            let entry = entry?;
            if matcher.matches(entry.path) {
                files.push(entry.path.to_vec());
            }
        }
        Ok(files)
    }

    fn diff(&self, include: Option<&[u8]>, exclude: Option<&[u8]>) -> Result<Vec<u8>, Abort> {
        let all = |pattern: Option<&[u8]>| -> Vec<Vec<u8>> {
            pattern.iter().map(|pattern| pattern.to_vec()).collect()
        };
        let matcher = self.matcher(&[], &all(include), &all(exclude))?;
        let (comparison, changes) = self.compared(&matcher)?;
        let mut out = Vec::new();
        comparison.push_all(&changes, &mut out)?;
        Ok(out)
    }

    fn latest_tag(&self, pattern: Option<&[u8]>) -> Result<Value, Abort> {
        let working = self.printer.working.clone();
        let latest = Latest::new(&self.printer.view, working, pattern)?;
        let found = latest.of(self.subject.rev);
        let changes = latest.changes(self.subject.rev, &found) as i64;
        let one = |tag: &Vec<u8>| {
            let part = |name: &str, value: Value| (name.as_bytes().to_vec(), value);
            let parts = vec![
                part("tag", Value::from(tag)),
                part("distance", Value::Int(found.distance as i64)),
                part("changes", Value::Int(changes)),
            ];
            Value::Shown(tag.clone(), parts)
        };
        Ok(Value::List(found.tags.iter().map(one).collect()))
    }
}

//! The checks: which changesets and bookmarks a hook is about, and whether its user may have them.

use super::members::group_members;
use super::rules::{FileRules, keys_for_user, selects_name};
use super::words::{AccessEvent, AccessRefusal, ControlledItem};
use crate::format::RepoError;
use crate::hooks::HookArgs;
use crate::read::{RepoView, Repository, ViewFilter};
use std::fmt;
use std::fs;
use std::path::Path;
use varve_config::hgrc::{Files, Hgrc, list};
use varve_revlog::{Node, Rev};

/// Sections that `acl.config` may add to.
const SECTIONS_OF_FILE: &[&str] = &[
    "acl.groups",
    "acl.allow.branches",
    "acl.deny.branches",
    "acl.allow",
    "acl.deny",
];
/// Default of `acl.sources`.
const SOURCES: &[u8] = b"serve";

/// Checks the changes of one call of a hook.
pub struct AccessControl<'a> {
    /// Configuration of the repository, without values of untrusted files.
    pub config: &'a Hgrc,
    /// Expands and includes what the file of `acl.config` names.
    pub files: &'a dyn Files,
    /// Directory that a relative `acl.config` starts from.
    pub directory: &'a Path,
    /// Login name of this process, for changes without a user of their own.
    pub process_user: &'a dyn Fn() -> Vec<u8>,
    /// Gets the steps.
    pub report: &'a dyn Fn(AccessEvent<'_>),
}

impl fmt::Debug for AccessControl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessControl").finish_non_exhaustive()
    }
}

impl AccessControl<'_> {
    /// Checks the changes that a hook of the kind `kind` is called about; `open` opens the repository with its
    /// pending changes.
    ///
    /// # Errors
    /// The refusal, also if the rules or the changes cannot be read.
    pub fn check(
        &self,
        kind: &str,
        args: &HookArgs,
        open: &dyn Fn() -> Result<Repository, RepoError>,
    ) -> Result<(), AccessRefusal> {
        let is_about_bookmarks = match kind {
            "pretxncommit" | "pretxnchangegroup" => false,
            "prepushkey" => true,
            _ => return Err(AccessRefusal::WrongKind(kind.to_owned())),
        };
        let arg = |name: &str| args.get(name).map(Vec::as_slice).unwrap_or_default();
        let source = arg("source");
        let sources = list(self.config.get("acl", "sources").unwrap_or(SOURCES));
        if kind == "pretxnchangegroup" && !sources.iter().any(|listed| listed == source) {
            (self.report)(AccessEvent::Skipped { source });
            return Ok(());
        }
        let user = match remote_user(source, arg("url")) {
            Some(user) => user,
            None => (self.process_user)(),
        };
        (self.report)(AccessEvent::Checking { user: &user });
        if is_about_bookmarks {
            if arg("namespace") != b"bookmarks" {
                return Ok(());
            }
            return self.check_bookmark(&user, arg("key"), arg("new"));
        }
        let view = open()?.view_for(ViewFilter::Unfiltered)?;
        self.check_changesets(&user, &view, first_of(&view, arg("node"))?)
    }

    fn check_bookmark(
        &self,
        user: &[u8],
        bookmark: &[u8],
        target: &[u8],
    ) -> Result<(), AccessRefusal> {
        let keys = |section| self.keys(self.config, section, user);
        let allowed = keys("acl.allow.bookmarks")?;
        let denied = keys("acl.deny.bookmarks")?;
        let selects = |keys: &[Vec<u8>]| selects_name(keys, bookmark);
        judge((denied.as_deref(), allowed.as_deref()), selects).map_err(|is_listed| {
            AccessRefusal::Forbidden {
                is_listed,
                user: user.to_vec(),
                item: ControlledItem::Bookmark(bookmark.to_vec()),
                changeset: target.to_vec(),
            }
        })?;
        (self.report)(AccessEvent::BookmarkGranted { bookmark, target });
        Ok(())
    }

    /// Checks the changesets from `first` on.
    fn check_changesets(
        &self,
        user: &[u8],
        view: &RepoView,
        first: Rev,
    ) -> Result<(), AccessRefusal> {
        let config = self.with_file()?;
        let keys = |section| self.keys(&config, section, user);
        let allowed_branches = keys("acl.allow.branches")?;
        let denied_branches = keys("acl.deny.branches")?;
        let files = |section| -> Result<Option<FileRules>, AccessRefusal> {
            let keys = keys(section)?;
            keys.map(|keys| FileRules::compile(view.root(), &keys))
                .transpose()
        };
        let allowed_files = files("acl.allow")?;
        let denied_files = files("acl.deny")?;
        let changelog = view.changelog();
        for rev in changelog.revs().skip_while(|rev| *rev < first) {
            let node = changelog.node(rev);
            let forbidden = |is_listed, item| AccessRefusal::Forbidden {
                is_listed,
                user: user.to_vec(),
                item,
                changeset: node.to_hex()[..12].to_vec(),
            };
            let text = changelog.text(rev).map_err(RepoError::from)?;
            let changeset = view.parse_changeset(rev, &text)?;
            let branch = changeset.branch();
            let lists = (denied_branches.as_deref(), allowed_branches.as_deref());
            judge(lists, |keys| selects_name(keys, &branch)).map_err(|is_listed| {
                forbidden(is_listed, ControlledItem::Branch(branch.to_vec()))
            })?;
            let branch = &branch;
            (self.report)(AccessEvent::BranchGranted { node, branch });
            for file in changeset.files() {
                let lists = (denied_files.as_ref(), allowed_files.as_ref());
                judge(lists, |rules| rules.selects(file)).map_err(|is_listed| {
                    forbidden(is_listed, ControlledItem::File(file.to_vec()))
                })?;
            }
            (self.report)(AccessEvent::FilesGranted { node });
        }
        Ok(())
    }

    /// The configuration with the sections of the file that `acl.config` names.
    fn with_file(&self) -> Result<Hgrc, AccessRefusal> {
        let mut config = self.config.clone();
        let Some(name) = config.text("acl", "config").filter(|name| !name.is_empty()) else {
            return Ok(config);
        };
        let path = self.directory.join(&name);
        let text = fs::read(&path)
            .map_err(|error| AccessRefusal::UnreadableConfig { path: name, error })?;
        let mut added = Hgrc::default();
        let parsed = added.add_text(self.files, &path, &text);
        parsed.map_err(AccessRefusal::Config)?;
        added.keep_sections(SECTIONS_OF_FILE);
        config.add_all(&added);
        Ok(config)
    }

    fn keys(
        &self,
        config: &Hgrc,
        section: &'static str,
        user: &[u8],
    ) -> Result<Option<Vec<Vec<u8>>>, AccessRefusal> {
        let members = |group: &[u8]| self.members(config, group);
        keys_for_user(config, section, user, (&members, self.report))
    }

    fn members(&self, config: &Hgrc, group: &[u8]) -> Result<Vec<Vec<u8>>, AccessRefusal> {
        let mut items = config.section("acl.groups").iter();
        let configured = items.find(|item| item.key == group);
        let configured = configured.map(|item| list(&item.value)).unwrap_or_default();
        if !configured.is_empty() {
            return Ok(configured);
        }
        (self.report)(AccessEvent::GroupNotConfigured(group));
        let undefined = || AccessRefusal::UndefinedGroup(group.to_vec());
        group_members(group).ok_or_else(undefined)
    }
}

/// The verdict of a deny list and an allow list, of which either may be absent.
///
/// # Errors
/// True if the deny list selects the item, false if the allow list does not.
fn judge<L: ?Sized>(
    (denied, allowed): (Option<&L>, Option<&L>),
    selects: impl Fn(&L) -> bool,
) -> Result<(), bool> {
    if denied.is_some_and(&selects) {
        return Err(true);
    }
    match allowed.is_none_or(&selects) {
        true => Ok(()),
        false => Err(false),
    }
}

/// The first changeset that the hook is about.
fn first_of(view: &RepoView, node: &[u8]) -> Result<Rev, AccessRefusal> {
    let node = Node::from_hex(node).unwrap_or(Node::NULL);
    let missing = || RepoError::MissingNode {
        what: "changeset",
        node,
        path: view.changelog().path().to_owned(),
    };
    Ok(view.changelog().rev(&node).ok_or_else(missing)?)
}

/// The user of a push over HTTP; empty without a login.
fn remote_user(source: &[u8], url: &[u8]) -> Option<Vec<u8>> {
    let rest = url.strip_prefix(b"remote:http")?;
    // The address may have colons of its own, the name has none.
    let name = rest.rsplit(|byte| *byte == b':').next()?;
    (source == b"serve").then(|| percent_decode(name))
}

fn percent_decode(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, behind)) = rest.split_first() {
        let digit = |at: usize| char::from(*behind.get(at)?).to_digit(16);
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                rest = &behind[2..];
            }
            _ => {
                out.push(*first);
                rest = behind;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_known_by_the_end_of_its_url() {
        let user = |source: &str, url: &str| remote_user(source.as_bytes(), url.as_bytes());
        let fred = Some(b"fred:x/%".to_vec());
        assert_eq!(user("serve", "remote:http:127.0.0.1:fred%3Ax%2F%"), fred);
        assert_eq!(user("serve", "remote:https:::1:fred%3ax%2f%25"), fred);
        assert_eq!(user("serve", "remote:http:127.0.0.1:"), Some(Vec::new()));
        assert_eq!(user("serve", "remote:ssh:127.0.0.1"), None);
        assert_eq!(user("push", "remote:http:127.0.0.1:fred"), None);
    }

    #[test]
    fn denying_comes_before_allowing() {
        let verdict = |denied, allowed| judge((denied, allowed), |listed: &bool| *listed);
        assert_eq!(verdict(None, None), Ok(()));
        assert_eq!(verdict(Some(&false), Some(&true)), Ok(()));
        assert_eq!(verdict(Some(&true), Some(&true)), Err(true));
        assert_eq!(verdict(Some(&false), Some(&false)), Err(false));
    }
}

//! Other repositories: by name, path or URL, and the way to them.

use crate::context::{Config, Repo, RepoLocation, disk};
use crate::remote::paths::RemotePath;
use crate::remote::{paths, servers};
use crate::ui::{Abort, Ui};
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_exchange::ExchangeError;
use varve_exchange::LocalPeer;
use varve_exchange::apply::BookmarkExchange;
use varve_exchange::client::peer::{HttpPeer, Login, Remote, SshPeer, Transport};
use varve_exchange::server::wire::{ReadHooks, ReaderLocation, WireSettings};
use varve_repo::{Evolution, Repository};

/// The address of another repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PeerAddress {
    /// A URL or a path.
    pub(crate) url: Vec<u8>,
    /// A branch that was asked for behind `#`.
    pub(crate) branch: Option<Vec<u8>>,
    /// Its name in `[paths]`.
    pub(crate) name: Option<Vec<u8>>,
    /// A query for the pushed changesets if nothing is named.
    pub(crate) push_rev: Option<Vec<u8>>,
    /// Treatment of its bookmarks by a pull.
    pub(crate) bookmarks: BookmarkExchange,
}

/// Meaning of `bookmarks.mode`; a value that is unknown counts as the default.
fn bookmark_exchange(mode: Option<&[u8]>) -> BookmarkExchange {
    match mode {
        Some(b"mirror") => BookmarkExchange::Mirror,
        Some(b"ignore") => BookmarkExchange::Ignore,
        _ => BookmarkExchange::Merge,
    }
}

/// Schemes that lead over HTTP.
const HTTP: [&[u8]; 2] = [b"http://", b"https://"];
/// Schemes that Mercurial knows and this program does not.
const OTHERS: [&[u8]; 2] = [b"union:", b"static-http://"];
/// How a URL begins that leads over ssh.
const SSH: &[u8] = b"ssh://";

/// Another repository on this machine.
pub(crate) struct LocalRepository {
    pub(crate) repository: Repository,
    /// Whether the repository is a bundle, laid over another one.
    pub(crate) is_bundle: bool,
}

impl PeerAddress {
    /// Whether it is reached over HTTP.
    pub(crate) fn is_http(&self) -> bool {
        HTTP.iter().any(|scheme| self.url.starts_with(scheme))
    }

    /// Whether it is reached over a connection.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.is_http() || self.is_ssh()
    }

    /// Whether it is reached over ssh.
    pub(crate) fn is_ssh(&self) -> bool {
        self.url.starts_with(SSH)
    }

    /// As it is shown: without password.
    pub(crate) fn shown(&self) -> Vec<u8> {
        paths::without_password(&self.url)
    }

    /// The URL as hooks learn it; a path is absolute.
    pub(crate) fn hook_url(&self, repo: &Repo) -> Vec<u8> {
        match self.path() {
            Some(path) => {
                let path = repo.cwd.join(Path::new(OsStr::from_bytes(path)));
                [b"file:", paths::normal(&path).as_os_str().as_bytes()].concat()
            }
            None => self.shown(),
        }
    }

    /// The address for the configuration of a clone: the path of a repository is absolute, with the branch behind it.
    pub(crate) fn of_clone(&self, repo: &Repo) -> Vec<u8> {
        let Some(path) = self.path().filter(|_| !self.is_bundle(repo)) else {
            return self.without_password();
        };
        let path = paths::normal(&repo.cwd.join(Path::new(OsStr::from_bytes(path))));
        let mut address = path.into_os_string().into_encoded_bytes();
        if let Some(branch) = &self.branch {
            address.extend([b"#", &branch[..]].concat());
        }
        address
    }

    /// The URL for a file of configuration: with the user's name, but no password.
    pub(crate) fn without_password(&self) -> Vec<u8> {
        let text = String::from_utf8_lossy(&self.url).into_owned();
        let plain = text.split_once("://").and_then(|(scheme, rest)| {
            let end = rest.find('/').unwrap_or(rest.len());
            let (login, host) = rest[..end].rsplit_once('@')?;
            let (user, _) = login.split_once(':')?;
            Some(format!("{scheme}://{user}@{host}{}", &rest[end..]))
        });
        plain.map_or_else(|| self.url.clone(), String::into_bytes)
    }

    /// Whether it is a bundle.
    pub(crate) fn is_bundle(&self, repo: &Repo) -> bool {
        let is_known = OTHERS.iter().any(|scheme| self.url.starts_with(scheme));
        !self.is_elsewhere()
            && !is_known
            && matches!(
                RepoLocation::find(Some(&self.url), &repo.cwd, None),
                RepoLocation::Bundle(_)
            )
    }

    fn of(url: &[u8], name: Option<&[u8]>) -> PeerAddress {
        let hash = url.iter().rposition(|byte| *byte == b'#');
        let (url, branch) = match hash {
            Some(hash) => (&url[..hash], Some(url[hash + 1..].to_vec())),
            None => (url, None),
        };
        PeerAddress {
            url: paths::with_root(url),
            branch: branch.filter(|branch| !branch.is_empty()),
            name: name.map(<[u8]>::to_vec),
            push_rev: None,
            bookmarks: BookmarkExchange::default(),
        }
    }

    /// Address for a push to a name of `[paths]`.
    fn to_push(path: &RemotePath) -> PeerAddress {
        let other = path.option("pushurl").filter(|url| paths::is_url(url));
        let url = other.unwrap_or(&path.url);
        PeerAddress {
            push_rev: path.option("pushrev").map(<[u8]>::to_vec),
            ..PeerAddress::of(url, Some(&path.name))
        }
    }

    /// The path on this machine that it stands for, if it is one.
    fn path(&self) -> Option<&[u8]> {
        match self.url.strip_prefix(b"file:") {
            Some(path) => Some(path.strip_prefix(b"//").unwrap_or(path)),
            None if paths::is_url(&self.url) || self.url.starts_with(b"bundle:") => None,
            None => Some(&self.url),
        }
    }
}

/// Refuses the setting that has Mercurial exchange in the ways of old versions.
fn check_exchange(config: &Config) -> Result<(), Abort> {
    let old: [&[u8]; 2] = [b"bundle1", b"phases"];
    let words = config.list("devel", "legacy.exchange");
    // Mercurial, too, lets the newer form win.
    let newer = words.iter().any(|word| word == b"bundle2");
    let wanted = words
        .iter()
        .find(|word| old.contains(&&word[..]) && !(newer && word[..] == *b"bundle1"));
    match wanted {
        Some(word) => Err(Abort::new(format!(
            "devel.legacy.exchange={} is not supported",
            String::from_utf8_lossy(word)
        ))),
        None => Ok(()),
    }
}

/// True if `devel.legacy.exchange` has bookmarks exchanged as keys, as before Mercurial 4.5.
pub(crate) fn sends_bookmarks_as_keys(config: &Config) -> bool {
    let words = config.list("devel", "legacy.exchange");
    words.iter().any(|word| word == b"bookmarks")
}

/// Addresses of a name, path or URL; a name may have several.
pub(crate) fn sources(
    repo: &Repo,
    ui: &mut Ui,
    config: &Config,
    typed: &[u8],
) -> Result<Vec<PeerAddress>, Abort> {
    check_exchange(config)?;
    let known = paths::paths(repo, ui, config)?;
    let named = known.iter().filter(|path| path.name == typed);
    let found: Vec<PeerAddress> = named
        .map(|path| PeerAddress {
            bookmarks: bookmark_exchange(path.option("bookmarks.mode")),
            ..PeerAddress::of(&path.url, Some(typed))
        })
        .collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let mut source = PeerAddress::of(typed, None);
    let whole = source.path().map(|path| {
        let path = paths::normal(&repo.cwd.join(Path::new(OsStr::from_bytes(path))));
        path.into_os_string().into_encoded_bytes()
    });
    let same = |path: &&RemotePath| path.url == source.url || Some(&path.url) == whole.as_ref();
    source.name = known.iter().find(same).map(|path| path.name.clone());
    let options = paths::of_unnamed(ui, config)?;
    let mode = options.iter().find(|(name, _)| *name == "bookmarks.mode");
    source.bookmarks = bookmark_exchange(mode.map(|(_, value)| &value[..]));
    Ok(vec![source])
}

/// The repositories that `names` mean for a push, each a name of the configuration, a
/// path, or a URL; where there are none, the one that `push` would mean.
pub(crate) fn destinations(
    repo: &Repo,
    ui: &mut Ui,
    config: &Config,
    names: &[Vec<u8>],
) -> Result<Vec<PeerAddress>, Abort> {
    check_exchange(config)?;
    let known = paths::paths(repo, ui, config)?;
    let named = |name: &[u8]| -> Vec<PeerAddress> {
        let paths = known.iter().filter(|path| path.name == name);
        paths.map(PeerAddress::to_push).collect()
    };
    let mut found = Vec::new();
    for name in names {
        match named(name) {
            paths if paths.is_empty() => found.push(typed_destination(repo, name)?),
            paths => found.extend(paths),
        }
    }
    if names.is_empty() {
        let usual = ["default-push", "default"].map(|name| named(name.as_bytes()));
        let mut usual = usual.into_iter().filter(|paths| !paths.is_empty());
        found = usual.next().unwrap_or_default();
    }
    match found.is_empty() {
        true => Err(Abort::Unconfigured {
            message: "default repository not configured!",
            hint: "see 'hg help config.paths'",
        }),
        false => Ok(found),
    }
}

fn typed_destination(repo: &Repo, typed: &[u8]) -> Result<PeerAddress, Abort> {
    let source = PeerAddress::of(typed, None);
    let is_there = source.path().is_none_or(|path| {
        let directory = repo.cwd.join(Path::new(OsStr::from_bytes(path)));
        !path.is_empty() && directory.join(".hg").is_dir()
    });
    match is_there {
        true => Ok(source),
        false => {
            let shown = String::from_utf8_lossy(&source.url).into_owned();
            Err(Abort::new(format!("repository {shown} does not exist")))
        }
    }
}

/// Connects to another repository and asks for its capabilities.
pub(crate) fn connect(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    source: &PeerAddress,
) -> Result<Remote, Abort> {
    let mut remote = match source.is_http() {
        true => connect_over_http(repo, ui, config, source)?,
        false if source.is_ssh() => Remote::connect(Box::new(over_ssh(ui, config, source)?))?,
        false => Remote::connect(Box::new(local_peer(repo, ui, config, source)?))?,
    };
    let host = String::from_utf8_lossy(&source.url).into_owned();
    if source.url.starts_with(b"https://")
        && config.accepts_any_certificate
        && !servers::has_fingerprints(config, servers::host_of(&host))?
    {
        ui.warn(format!(
            "warning: connection security to {} is disabled per current settings; \
             communication is susceptible to eavesdropping and tampering\n",
            servers::host_of(&host)
        ))?;
    }
    ui.trace(&mut remote);
    Ok(remote)
}

fn connect_over_http(
    repo: &Repo,
    ui: &mut Ui,
    config: &Config,
    source: &PeerAddress,
) -> Result<Remote, Abort> {
    if ui.verbosity.debug {
        let words = [
            b"using ",
            &source.shown()[..],
            b"\nsending capabilities command\n",
        ];
        ui.write(words.concat())?;
    }
    let peer = over_http(repo, config, source)?;
    let url = String::from_utf8_lossy(&source.url).into_owned();
    let host = servers::host_of(&url);
    if url.starts_with("https://") {
        servers::warn_of_ignored_certificates(config, ui, host)?;
    }
    let compared = peer.compared_fingerprint();
    let mut traffic = vec![peer.traffic()];
    let remote = match Remote::connect(Box::new(peer)) {
        Err(ExchangeError::LoginNeeded { url, realm }) => {
            let login = prompt_login(repo, ui, config, source, (url, &realm))?;
            let mut peer = over_http(repo, config, source)?;
            peer.log_in(login);
            traffic.push(peer.traffic());
            Remote::connect(Box::new(peer))?
        }
        connected => connected?,
    };
    servers::warn_of_fingerprints(ui, host, compared().as_ref())?;
    ui.traffic = traffic;
    Ok(remote)
}

/// Prompts for name and password, if questions can be answered.
pub(crate) fn prompt_login(
    repo: &Repo,
    ui: &mut Ui,
    config: &Config,
    source: &PeerAddress,
    (url, realm): (String, &str),
) -> Result<Login, Abort> {
    let realm = realm.to_owned();
    if !ui.is_interactive()? {
        return Err(ExchangeError::LoginNeeded { url, realm }.into());
    }
    let known = over_http(repo, config, source)?
        .login()
        .map(|login| login.user.clone());
    ui.write(format!(
        "http authorization required for {url}\nrealm: {realm}\n"
    ))?;
    let user = match known {
        Some(user) => {
            ui.write(format!("user: {user}\n"))?;
            user
        }
        None => String::from_utf8_lossy(&ui.prompt("user:")?.unwrap_or_default()).into_owned(),
    };
    let password = ui.prompt_password()?;
    Ok(Login {
        user,
        password: Some(password),
    })
}

/// Has the program at the other end of ssh make a repository; its output is shown as it is.
pub(crate) fn create_over_ssh(
    ui: &mut Ui,
    config: &Config,
    target: &PeerAddress,
) -> Result<(), Abort> {
    ui.out.flush()?;
    let [ssh, there] = ssh_programs(config);
    let url = String::from_utf8_lossy(&target.url);
    Ok(SshPeer::create(&url, (&ssh, &there))?)
}

/// Commands that reach another machine, and that run there.
fn ssh_programs(config: &Config) -> [String; 2] {
    [("ssh", "ssh"), ("remotecmd", "hg")].map(|(key, usual)| {
        let text = config.text("ui", key);
        text.unwrap_or_else(|| usual.to_owned())
    })
}

/// Words of the other side are shown as soon as they are said.
fn over_ssh(ui: &mut Ui, config: &Config, source: &PeerAddress) -> Result<SshPeer, Abort> {
    ui.out.flush()?;
    ui.unbuffered = true;
    let quiet = ui.verbosity.quiet;
    let streams = ui.streams.clone();
    let listener = move |line: &[u8]| {
        if !quiet {
            // Nothing is left to do if the standard output is gone.
            let _ = streams
                .out()
                .write_all(&[b"remote: ", line, b"\n"].concat());
        }
    };
    let [ssh, there] = ssh_programs(config);
    let url = String::from_utf8_lossy(&source.url);
    let debugs = ui.verbosity.debug;
    let mut debugged = ui.streams.out();
    let mut debug = |words: &[u8]| {
        if debugs {
            let _ = debugged.write_all(words);
        }
    };
    let programs = (&ssh[..], &there[..]);
    let connected = SshPeer::connect(&url, programs, Box::new(listener), &mut debug);
    if let Err(ExchangeError::NoSuitableResponse { said }) = &connected {
        for line in said {
            ui.warn([b"remote: ", &line[..], b"\n"].concat())?;
        }
    }
    Ok(connected?)
}

/// A way to a URL of http or https, as the configuration has it.
pub(crate) fn over_http(
    repo: &Repo,
    config: &Config,
    source: &PeerAddress,
) -> Result<HttpPeer, Abort> {
    let url = String::from_utf8_lossy(&source.url).into_owned();
    let mut peer = HttpPeer::new(&url, &servers::http_options(config, &repo.cwd, &url)?)?;
    let complete = |login: &&Login| login.password.is_some();
    if peer.login().filter(complete).is_none() {
        let user = peer.login().map(|login| login.user.clone());
        if let Some(login) = configured_login(config, &url, user.as_deref()) {
            peer.log_in(login);
        }
    }
    Ok(peer)
}

/// The entry of `[auth]` whose prefix is the longest that fits.
fn configured_login(config: &Config, url: &str, user: Option<&str>) -> Option<Login> {
    let (scheme, rest) = url.split_once("://")?;
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    let mut best: Option<(usize, Login)> = None;
    for item in config.section("auth") {
        let key = String::from_utf8_lossy(&item.key).into_owned();
        let Some(name) = key.strip_suffix(".prefix") else {
            continue;
        };
        let value = |word: &str| config.text("auth", &format!("{name}.{word}"));
        let prefix = String::from_utf8_lossy(&item.value).into_owned();
        let (schemes, prefix) = match prefix.split_once("://") {
            Some((scheme, prefix)) => (scheme.to_owned(), prefix.to_owned()),
            None => (value("schemes").unwrap_or("https".to_owned()), prefix),
        };
        let fits = prefix == "*" || rest.starts_with(&prefix);
        let of_scheme = schemes.split([' ', ',']).any(|known| known == scheme);
        let named = value("username");
        let same_user = match (user, &named) {
            (Some(user), Some(named)) => user == named,
            _ => true,
        };
        let longer = best.as_ref().is_none_or(|(len, _)| prefix.len() > *len);
        if !fits || !of_scheme || !same_user || !longer {
            continue;
        }
        if let Some(user) = named.or_else(|| user.map(str::to_owned)) {
            let password = value("password");
            best = Some((prefix.len(), Login { user, password }));
        }
    }
    best.map(|(_, login)| login)
}

fn local_peer(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    source: &PeerAddress,
) -> Result<LocalPeer, Abort> {
    let local = open_local(repo, source)?;
    peer_of((repo, ui, config), &local)
}

/// Asks another repository on this machine, which is also to be looked at.
pub(crate) fn connect_local(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    source: &PeerAddress,
) -> Result<(Remote, Repository), Abort> {
    let local = open_local(repo, source)?;
    let peer = peer_of((repo, ui, config), &local)?;
    let mut remote = Remote::connect(Box::new(peer))?;
    ui.trace(&mut remote);
    Ok((remote, local.repository))
}

fn peer_of(
    (repo, ui, config): (&Repo, &mut Ui, &Config),
    local: &LocalRepository,
) -> Result<LocalPeer, Abort> {
    if local.is_bundle {
        // Changesets of a bundle stay drafts.
        let settings = WireSettings {
            publishing: false,
            ..WireSettings::default()
        };
        return Ok(LocalPeer::new(local.repository.clone(), settings));
    }
    let root = local.repository.root();
    let settings = settings_of(config, root)?;
    let hooks = repo.hooks_of(root, ui, config)?;
    let hooks = ReadHooks::new(Arc::new(hooks), ReaderLocation::Local);
    if !hooks.is_empty() {
        // Their output must not overtake the command's.
        ui.out.flush()?;
        ui.unbuffered = true;
    }
    Ok(LocalPeer::new(local.repository.clone(), settings).with_hooks(hooks))
}

/// A repository on this machine, or a bundle that is laid over the one that the context is
/// about.
pub(crate) fn open_local(repo: &mut Repo, source: &PeerAddress) -> Result<LocalRepository, Abort> {
    Ok(match location_of(repo, source)? {
        RepoLocation::Bundle(place) => LocalRepository {
            repository: repo.open_bundle(&place)?,
            is_bundle: true,
        },
        place => LocalRepository {
            repository: Repository::open(disk(), found(source, &place)?)?,
            is_bundle: false,
        },
    })
}

/// The directory of a repository on this machine.
pub(crate) fn root_of(repo: &Repo, source: &PeerAddress) -> Result<PathBuf, Abort> {
    let place = location_of(repo, source)?;
    if let RepoLocation::Bundle(_) = place {
        return Err(cannot_reach(source));
    }
    found(source, &place).map(Path::to_owned)
}

fn location_of(repo: &Repo, source: &PeerAddress) -> Result<RepoLocation, Abort> {
    if OTHERS.iter().any(|scheme| source.url.starts_with(scheme)) {
        return Err(cannot_reach(source));
    }
    let here = repo.location().root();
    Ok(RepoLocation::find(Some(&source.url), &repo.cwd, here))
}

/// Settings in another repository's own configuration for clients.
fn settings_of(config: &Config, root: &Path) -> Result<WireSettings, Abort> {
    let config = config.layers.with(Some(root))?.config;
    Ok(WireSettings {
        publishing: config.boolean("phases", "publish", true)?,
        takes_markers: Evolution::read(&config).map_err(Abort::Setting)?.exchange,
        ..WireSettings::default()
    })
}

fn cannot_reach(source: &PeerAddress) -> Abort {
    let shown = String::from_utf8_lossy(&source.url);
    Abort::new(format!("cannot reach {shown}"))
        .hint("only http, https, ssh and repositories of this machine are supported")
}

fn found<'a>(source: &PeerAddress, place: &'a RepoLocation) -> Result<&'a Path, Abort> {
    let shown = String::from_utf8_lossy(&source.url);
    let missing = || Abort::new(format!("repository {shown} not found"));
    place.root().ok_or_else(missing)
}

//! Starting and stopping: threads, the listening socket, signals.

use crate::folder::Folder;
use crate::http::{self, Tls};
use crate::{App, ServerError};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

/// Stack of every thread: nested JSON and deep trees are read by recursion within limits that
/// this covers.
const STACK: usize = 8 << 20;

/// When the server stops, what cannot end any more has this long to be undone.
const UNDONE_WITHIN: Duration = Duration::from_secs(5);

/// What to serve, and where.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The served folder.
    pub folder: PathBuf,
    /// Takes the place of `[chttpd] bind_address`.
    pub address: Option<IpAddr>,
    /// Takes the place of `[chttpd] port`; 0 takes any free one.
    pub port: Option<u16>,
    /// A file in PEM with a certificate and its key: with it, all connections are TLS.
    pub certificate: Option<PathBuf>,
    /// Is told what went wrong with a request through no fault of its client's, one line each.
    pub report: fn(&str),
}

/// A server that listens already.
#[derive(Debug)]
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Tls>,
    app: Arc<App>,
}

impl Server {
    /// Takes the folder and listens; connections wait until [`Server::run_until`].
    ///
    /// # Errors
    /// Any [`ServerError`].
    pub fn bind(options: &ServeOptions) -> Result<Server, ServerError> {
        let tls = options.certificate.as_deref().map(Tls::read).transpose()?;
        let folder = Folder::open(&options.folder)?;
        let ip = options.address.unwrap_or(folder.settings.bind_address);
        let port = options.port.unwrap_or(folder.settings.port);
        let address = SocketAddr::new(ip, port);
        let runtime = Builder::new_multi_thread()
            .enable_all()
            .thread_stack_size(STACK)
            .thread_name("varve")
            .build()
            .map_err(|source| ServerError::Threads { source })?;
        let app = Arc::new(App::new(folder, options.report)?);
        let refused = |source| ServerError::Listen { address, source };
        let listener = runtime
            .block_on(TcpListener::bind(address))
            .map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(Server {
            runtime,
            listener,
            address,
            tls,
            app,
        })
    }

    /// Where it listens, with the port that was really taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        match self.tls {
            Some(_) => "https",
            None => "http",
        }
    }

    /// What its requests share.
    pub fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// Completes at Ctrl-C or SIGTERM. The signals are caught from this call on, so it belongs
    /// before anything that tells others that the server is there.
    ///
    /// # Errors
    /// [`ServerError::Signals`].
    pub fn stop_signal(&self) -> Result<impl Future<Output = ()> + use<>, ServerError> {
        let _inside = self.runtime.enter();
        let caught = |kind| signal(kind).map_err(|source| ServerError::Signals { source });
        let mut interrupt = caught(SignalKind::interrupt())?;
        let mut terminate = caught(SignalKind::terminate())?;
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => (),
                _ = terminate.recv() => (),
            }
        })
    }

    /// Answers requests until `stop` completes, such as [`Server::stop_signal`]; returns after
    /// running ones have finished.
    pub fn run_until(self, stop: impl Future<Output = ()>) {
        let serving = http::serve((self.listener, self.tls), Arc::clone(&self.app), stop);
        self.runtime.block_on(serving);
        self.app.compactor.wait_for_end(UNDONE_WITHIN);
        // Blocking threads that still write to a client that was cut end at their next write; pushes
        // that are cut are undone.
        self.runtime.shutdown_timeout(UNDONE_WITHIN);
    }
}

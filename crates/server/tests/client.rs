//! A server in this process, and as little of an HTTP client as the tests need.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tokio::sync::oneshot;
use varve_server::{HelpIndex, LogOutput, ServeOptions, Served, Server, SharedOptions};

/// One admin, whose password is quickly checked; indexes wait for a request, and there is no database.
const SETTINGS: &str = "[couchdb]\nsingle_node = false\n[admins]\nadm = pass\n[chttpd]\nallowed_hosts = varve.test\n[ken]\nbatch_channels = 0\n[chttpd_auth]\niterations = 2\n";

/// The admin's basic login.
pub const ADMIN: (&str, &str) = ("authorization", "Basic YWRtOnBhc3M=");

/// Keeps the lines of a log.
#[derive(Debug)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        eprint!("{text}");
        for line in text.lines() {
            let message = line.strip_prefix("varve: ").unwrap_or(line);
            self.0.lock().unwrap().push(message.to_owned());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A server on a free port; stops when dropped.
pub struct Running {
    pub address: SocketAddr,
    pub directory: tempfile::TempDir,
    /// Lines that were logged for the operator.
    told: Arc<Mutex<Vec<String>>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Serves a new directory.
    pub fn start() -> Running {
        Running::start_with("")
    }

    /// Serves a new directory with further settings.
    pub fn start_with(settings: &str) -> Running {
        let directory = tempfile::tempdir().unwrap();
        let settings = format!("{SETTINGS}{settings}");
        std::fs::write(directory.path().join("varve.ini"), settings).unwrap();
        Running::serve(directory, None)
    }

    /// Serves the databases of a store as the server with this id.
    pub fn start_in_store(shared: SharedOptions, id: &str) -> Running {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("varve.ini"), SETTINGS).unwrap();
        std::fs::write(directory.path().join("varve.node"), id).unwrap();
        Running::serve(directory, Some(shared))
    }

    /// Serves the same directory once more, after `between` has looked at it.
    pub fn restart(mut self, between: impl FnOnce(&Path)) -> Running {
        self.stop();
        let directory = std::mem::replace(&mut self.directory, tempfile::tempdir().unwrap());
        between(directory.path());
        Running::serve(directory, None)
    }

    /// Serves the databases of a store with the same directory once more.
    pub fn restart_in_store(mut self, shared: SharedOptions) -> Running {
        self.stop();
        let directory = std::mem::replace(&mut self.directory, tempfile::tempdir().unwrap());
        Running::serve(directory, Some(shared))
    }

    fn serve(directory: tempfile::TempDir, shared: Option<SharedOptions>) -> Running {
        let told = Arc::<Mutex<Vec<String>>>::default();
        let lines = Arc::clone(&told);
        let options = ServeOptions {
            // Other servers of a store must be able to reach it.
            address: shared.as_ref().map(|_| IpAddr::V4(Ipv4Addr::LOCALHOST)),
            served: Served::Directory {
                path: directory.path().to_owned(),
                title: None,
                shared,
            },
            port: Some(0),
            prefix: String::new(),
            certificate: None,
            access: None,
            log: LogOutput::Writer(Box::new(Lines(lines))),
            help: HelpIndex::default(),
        };
        let server = Server::bind(options).unwrap();
        let address = server.address();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            server.run_until(async {
                let _ = stopped.await;
            });
        });
        Running {
            address,
            directory,
            told,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// The lines that were logged for the operator so far.
    pub fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    /// Sends one request on a connection of its own.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut connection = Connection::open(self.address);
        connection.send(method, path, headers, body)
    }

    /// GET without headers.
    pub fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], "")
    }
}

impl Running {
    /// Stops serving; the directory stays until this is dropped.
    pub fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// One keep-alive connection.
pub struct Connection(BufReader<TcpStream>);

/// An answer, its body put together from chunks.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Connection {
    pub fn open(address: SocketAddr) -> Connection {
        Connection(BufReader::new(TcpStream::connect(address).unwrap()))
    }

    /// A connection whose kernel takes in few bytes before they are read.
    pub fn open_narrow(address: SocketAddr) -> Connection {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        let connect = async {
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            socket.set_recv_buffer_size(8 << 10).unwrap();
            let stream = socket.connect(address).await.unwrap().into_std().unwrap();
            stream.set_nonblocking(false).unwrap();
            stream
        };
        Connection(BufReader::new(runtime.block_on(connect)))
    }

    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let mut reply = self.begin(method, path, headers, body);
        if method != "HEAD" && reply.status != 304 {
            reply.body = String::from_utf8(self.body(&reply)).unwrap();
        }
        reply
    }

    /// Sends a request and reads the head of its answer.
    pub fn begin(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> Reply {
        let body = body.as_ref();
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: varve.test\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let socket = self.0.get_mut();
        socket.write_all(head.as_bytes()).unwrap();
        socket.write_all(body).unwrap();
        self.head()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn head(&mut self) -> Reply {
        let status = self.line();
        let status = status.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(": ") else {
                break;
            };
            headers.push((name.to_owned(), value.to_owned()));
        }
        Reply {
            status,
            headers,
            body: String::new(),
        }
    }

    /// The body of the answer whose head was read, put together from chunks.
    pub fn body(&mut self, reply: &Reply) -> Vec<u8> {
        let mut body = Vec::new();
        if let Some(len) = reply.header("content-length") {
            body.resize(len.parse().unwrap(), 0);
            self.0.read_exact(&mut body).unwrap();
            return body;
        }
        loop {
            let len = usize::from_str_radix(&self.line(), 16).unwrap();
            let start = body.len();
            body.resize(start + len, 0);
            self.0.read_exact(&mut body[start..]).unwrap();
            self.line();
            if len == 0 {
                return body;
            }
        }
    }
}

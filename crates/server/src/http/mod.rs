//! HTTP/1.1: the listener, requests as handlers see them, and answers whole or streamed.

mod access;
mod answer;
mod arriving;
mod body;
pub(crate) mod cors;
mod failure;
mod guarded;
pub(crate) mod handler;
mod intake;
mod listener;
mod mount;
mod observe;
mod quotes;
pub(crate) mod range;
mod refusal;
mod request;
mod sendfile;
mod spool;
mod tls;
mod upload;
mod work;

pub(crate) use access::AccessLog;
pub use access::AccessLogOutput;
pub use answer::{Answer, Body};
pub use body::{BodyClosed, BodyError, BodySender, BodyWriter, STREAM_BUFFER};
pub use failure::{Failure, FailureKind};
pub(crate) use intake::read_body;
pub(crate) use listener::serve;
pub(crate) use mount::Mount;
pub(crate) use request::IN_PATH;
pub use request::{Request, parse_query};
pub(crate) use sendfile::FilePiece;
pub(crate) use tls::Tls;
pub(crate) use upload::PulledBody;
pub use upload::Upload;
pub(crate) use work::blocking;

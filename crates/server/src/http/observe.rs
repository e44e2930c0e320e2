//! One request in the log and in the metrics.

use crate::http::handler::Subject;
use crate::runtime::ServerContext;
use crate::runtime::metrics::Half;
use hyper::{Method, StatusCode};
use std::time::{Duration, Instant};
use tracing::{Span, field};

/// A request from its head to the head of its answer.
#[derive(Debug)]
pub(crate) struct Observed {
    /// Whatever is logged within it names the request.
    pub(crate) span: Span,
    half: Half,
    method: Method,
    begun: Instant,
}

impl Observed {
    /// Begins with the request's head. `path` is as it stands in the request.
    pub(crate) fn begin(
        server: &ServerContext,
        id: &str,
        (method, path): (&Method, &str),
        subject: &Subject<'_>,
    ) -> Observed {
        let span = match server.log.has_requests() {
            true => server.log.scope(|| {
                tracing::info_span!(
                    "request",
                    id,
                    %method,
                    path,
                    user = field::Empty,
                    database = field::Empty,
                    repository = field::Empty,
                )
            }),
            false => Span::none(),
        };
        let half = match subject {
            Subject::Database(name) => {
                span.record("database", name);
                Half::Couch
            }
            Subject::Repository(name) => {
                span.record("repository", name);
                Half::Hg
            }
            Subject::Server => Half::Couch,
        };
        Observed {
            span,
            half,
            method: method.clone(),
            begun: Instant::now(),
        }
    }

    /// Time since the head of the request.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Names the user once they are known.
    pub(crate) fn record_user(&self, name: Option<&str>) {
        if let Some(name) = name {
            self.span.record("user", name);
        }
    }

    /// Writes the line and counts the answer.
    pub(crate) fn end(self, server: &ServerContext, status: StatusCode) {
        let duration = self.begun.elapsed();
        let status = status.as_u16();
        let subject = (self.half, self.method.as_str());
        server.metrics.count_request(subject, status, duration);
        if !server.log.has_requests() {
            return;
        }
        server.log.scope(|| {
            self.span.in_scope(|| {
                let milliseconds = duration.as_secs_f64() * 1000.0;
                tracing::info!(status, milliseconds, "answered");
            });
        });
    }
}

//! `_active_tasks` of all servers of a store: the one that is asked asks the others for theirs.

use crate::auth::Login;
use crate::http::Body;
use crate::runtime::repeats::fault_id;
use crate::runtime::{NODE_NAME, node_name};
use crate::site::Halves;
use crate::site::forward::Forwarder;
use crate::site::route::dispatch;
use crate::{Answer, Failure, Request};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;
use varve_json::Value;

const PATH: &str = "/_active_tasks";

/// Time for each of the other servers; one that needs more is left out.
const ANSWERED_WITHIN: Duration = Duration::from_secs(1);

/// True for a client's request for the list. Another server of the store that collects it is answered with the own tasks.
pub(super) fn are_asked_for(request: &Request) -> bool {
    request.is_read() && request.forwards == 0 && request.path().as_slice() == ["_active_tasks"]
}

/// Answers such a request.
///
/// # Errors
/// 401 or 403 for all but admins.
pub(super) async fn of_all_servers(
    halves: &Arc<Halves>,
    request: Request,
    login: Login,
) -> Result<Answer, Failure> {
    let mount = request.mount.clone();
    let mut answer = dispatch(halves, request, login.clone()).await?;
    let Body::Whole(own) = &answer.body else {
        return Ok(answer);
    };
    let view = halves.couch.databases.cluster();
    let name = view.and_then(|view| view.own_name());
    let mut tasks = named(own, name.as_deref().unwrap_or(NODE_NAME))?;
    for (_, of_one) in of_others(halves, &mount, &login).await {
        tasks.extend(of_one);
    }
    let mut body = Vec::new();
    varve_json::write(&Value::from(tasks), &mut body);
    body.push(b'\n');
    answer.body = Body::Whole(body);
    Ok(answer)
}

/// Tasks of the other servers, in the order of their addresses.
async fn of_others(halves: &Arc<Halves>, mount: &str, login: &Login) -> Vec<(String, Vec<Value>)> {
    let mut asked = JoinSet::new();
    for server in halves.forwarder.iter().flat_map(Forwarder::others) {
        let (of, mount, login) = (Arc::clone(halves), mount.to_owned(), login.clone());
        asked.spawn(async move {
            let forwarder = of.forwarder.as_ref()?;
            let answer = forwarder.ask(&server, (PATH, mount), &login);
            let failed = match timeout(ANSWERED_WITHIN, answer).await {
                Ok(Ok(list)) => match named(&list, &node_name(&server)) {
                    Ok(tasks) => return Some((server.to_string(), tasks)),
                    Err(failure) => failure.to_string(),
                },
                Ok(Err(failure)) => failure.to_string(),
                Err(_) => "it does not answer within a second".to_owned(),
            };
            of.couch.server().log.scope(|| {
                tracing::warn!(
                    fault = fault_id(&failed),
                    "the tasks of the server at {server} are left out: {failed}"
                );
            });
            None
        });
    }
    let mut found: Vec<_> = asked.join_all().await.into_iter().flatten().collect();
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}

/// The tasks of a server's list, with its name.
fn named(list: &[u8], server: &str) -> Result<Vec<Value>, Failure> {
    let Value::Array(mut tasks) = varve_json::parse(list)? else {
        return Err(Failure::internal("a list of tasks is no array"));
    };
    for task in &mut tasks {
        if let Value::Object(task) = task {
            task.insert("node", server);
        }
    }
    Ok(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Method;

    #[test]
    fn tasks_get_the_name_of_their_server() {
        let list = br#"[{"node":"x","pid":"<0.1.0>"},{"type":"indexer"}]"#;
        let tasks = named(list, "varve@a:1").unwrap();
        let mut text = Vec::new();
        varve_json::write(&Value::from(tasks), &mut text);
        let expected =
            r#"[{"node":"varve@a:1","pid":"<0.1.0>"},{"type":"indexer","node":"varve@a:1"}]"#;
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        assert!(named(b"{}", "a").is_err() && named(b"[", "a").is_err());
    }

    #[test]
    fn only_clients_get_the_tasks_of_all() {
        let request = |method, path: &str| {
            let uri = path.parse().unwrap();
            Request::new(method, &uri, hyper::HeaderMap::new(), Vec::new()).unwrap()
        };
        assert!(are_asked_for(&request(Method::GET, PATH)));
        assert!(are_asked_for(&request(Method::HEAD, PATH)));
        assert!(!are_asked_for(&request(Method::POST, PATH)));
        assert!(!are_asked_for(&request(Method::GET, "/_active_tasks/x")));
        let mut of_server = request(Method::GET, PATH);
        of_server.forwards = 1;
        assert!(!are_asked_for(&of_server));
    }
}

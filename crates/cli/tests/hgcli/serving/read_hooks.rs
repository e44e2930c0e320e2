//! Hooks about reading a served repository: both programs call the same ones with the same variables, and tell clients
//! the same about a refusal.

use super::clients::run;
use super::*;
use std::io::Write;

const KINDS: [&str; 4] = ["preoutgoing", "outgoing", "prelistkeys", "listkeys"];

/// Notes the variables of a hook; what it says is not for clients over HTTP.
const NOTE: &str = "echo said; (env | grep ^HG_ | sort; echo) >> calls";

/// Calls that name hooks, which refuse in the second round.
const REFUSING: &str = "hooks.preoutgoing.x=exit 3";
const REFUSING_KEYS: &str = "hooks.prelistkeys.x=exit 4";

/// A repository of two changesets with a bookmark and hooks; the nodes of the first and the last.
fn with_hooks(directory: &Path) -> (Hg, [String; 2]) {
    let hg = repository(directory);
    repos::write(directory, "a", b"more\n");
    repos::commit(&hg, directory, "two");
    hg.ok(directory, &["bookmark", "it's"]);
    let node = |rev| hg.ok(directory, &["log", "-r", rev, "-T", "{node}"]);
    let nodes = [node("0"), node("tip")];
    let hooks = KINDS.map(|kind| format!("{kind} = {NOTE}\n"));
    let text = format!("[hooks]\n{}", hooks.concat());
    std::fs::write(directory.join(".hg/hgrc"), text).unwrap();
    (hg, nodes)
}

/// The hooks' notes since the last call.
fn notes(directory: &Path) -> String {
    let path = directory.join("calls");
    let noted = std::fs::read_to_string(&path).unwrap_or_default();
    // A round may call none.
    let _ = std::fs::remove_file(&path);
    noted
}

/// Requests of all commands that call hooks.
fn requests([first, last]: &[String; 2]) -> Vec<String> {
    let caps = "HG20%2Cbundle2%3DHG20%250Achangegroup%253D02%250Alistkeys%250Aphases%253Dheads";
    vec![
        format!("/?cmd=getbundle&common={first}&heads={last}"),
        format!("/?cmd=getbundle&common={last}&heads={last}"),
        format!(
            "/?cmd=getbundle&bundlecaps={caps}&cg=1&common={first}&heads={last}&listkeys=bookmarks%2Cphases%2Cnone&phases=1"
        ),
        format!("/?cmd=getbundle&bundlecaps={caps}&cg=1&common={last}&heads={last}"),
        format!("/?cmd=changegroupsubset&bases={first}&heads={last}"),
        "/?cmd=listkeys&namespace=bookmarks".to_owned(),
        "/?cmd=batch&cmds=heads+%3Blistkeys+namespace%3Dnamespaces".to_owned(),
        "/?cmd=stream_out".to_owned(),
    ]
}

#[test]
fn a_client_over_http_calls_the_hooks_and_learns_refusals() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    let (_, nodes) = with_hooks(&source);
    let [theirs, ours] = programs().map(|(name, program)| {
        let mut told = Vec::new();
        for refusal in [None, Some(REFUSING), Some(REFUSING_KEYS)] {
            let mut options = vec!["-p", "0", "-a", "127.0.0.1"];
            options.extend(refusal.iter().flat_map(|line| ["--config", line]));
            let serving = Serving::start(&program, &source, &options);
            let mut client = serving.client();
            for request in requests(&nodes) {
                let answer = client.request("GET", &request, &[], b"").unwrap();
                // Bundles are compressed each in its own way.
                let is_text = answer.header("content-type") == Some("application/hg-error");
                let text = is_text.then(|| String::from_utf8(answer.body.clone()).unwrap());
                told.push(format!("{request} {} {text:?}", answer.status));
                told.push(notes(&source));
                if answer.status == 500 {
                    // The other server closes the connection without saying so.
                    client = serving.client();
                }
            }
            let clone = format!("{name}{}", told.len());
            let words = ["clone", "-U", &serving.url(""), &clone];
            let cloned = run(&hg_program(), directory.path(), &words);
            let port = serving.port().to_string();
            let said = format!("{}{}", cloned.stdout, cloned.stderr).replace(&port, "PORT");
            told.push(format!("{:?} {said}", cloned.code));
            told.push(notes(&source));
        }
        told
    });
    for (theirs, ours) in theirs.iter().zip(&ours) {
        assert_eq!(ours, theirs);
    }
    let all = ours.concat();
    let called = KINDS.iter().all(|kind| all.contains(kind));
    assert!(
        called && all.contains("abort: preoutgoing.x hook exited with status 3"),
        "{all}"
    );
}

/// The words of a conversation over standard input and output, with one client.
fn conversation(program: &Path, source: &Path, commands: &str) -> String {
    let mut command = Command::new(program);
    command
        .args(["-R", ".", "serve", "--stdio"])
        .current_dir(source);
    command.env("HGRCPATH", "").env("HGPLAIN", "1");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut input = process.stdin.take().unwrap();
    // A server that a hook has ended reads no more.
    let _ = input.write_all(commands.as_bytes());
    drop(input);
    let ended = process.wait_with_output().unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&ended.stdout),
        String::from_utf8_lossy(&ended.stderr),
    );
    format!("{out}\n--\n{err}\n--\n{}", notes(source))
}

#[test]
fn a_client_over_ssh_calls_the_hooks_and_reads_their_output() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    let (_, [_, last]) = with_hooks(&source);
    let nothing = format!("getbundle\n* 2\ncommon 40\n{last}heads 40\n{last}");
    let keys = "listkeys\nnamespace 9\nbookmarks";
    let commands = format!("{nothing}{keys}{keys}\n");
    for refusal in ["", "prelistkeys.x = exit 4\n"] {
        let path = source.join(".hg/hgrc");
        let configured = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, configured + refusal).unwrap();
        let [theirs, ours] =
            programs().map(|(_, program)| conversation(&program, &source, &commands));
        assert_eq!(ours, theirs);
        assert!(
            ours.contains("HG_NAMESPACE=bookmarks") && ours.contains("said"),
            "{ours}"
        );
    }
}

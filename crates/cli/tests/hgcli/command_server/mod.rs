//! `serve --cmdserver` of both programs: the protocol byte for byte, apart from where output is cut into blocks.

mod clients;
mod faults;
mod sockets;

use super::{Twin, our_hg};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use varve_testkit::peers::{Hg, hg_program};

/// A block from the server: its channel and content; of questions the number of bytes that are wanted.
type Block = (char, String);

/// A connection to a server.
struct Connection<R, W> {
    input: W,
    output: R,
}

/// A server over the standard streams; it ends with this value.
struct Server {
    process: Child,
    connection: Connection<ChildStdout, ChildStdin>,
}

impl<R: Read, W: Write> Connection<R, W> {
    /// The next block; `None` if the server has gone.
    fn block(&mut self) -> Option<Block> {
        let mut head = [0; 5];
        self.output.read_exact(&mut head).ok()?;
        let channel = char::from(head[0]);
        let length = u32::from_be_bytes(head[1..].try_into().unwrap());
        if channel.is_ascii_uppercase() {
            return Some((channel, length.to_string()));
        }
        let mut content = vec![0; usize::try_from(length).unwrap()];
        self.output.read_exact(&mut content).unwrap();
        let text = match channel {
            'r' if content.len() == 4 => {
                i32::from_be_bytes(content.try_into().unwrap()).to_string()
            }
            _ => String::from_utf8(content).unwrap(),
        };
        Some((channel, text))
    }

    fn send(&mut self, bytes: &[u8]) {
        self.input.write_all(bytes).unwrap();
        self.input.flush().unwrap();
    }

    fn send_block(&mut self, content: &[u8]) {
        let length = u32::try_from(content.len()).unwrap();
        self.send(&[&length.to_be_bytes()[..], content].concat());
    }

    fn request(&mut self, words: &[&str]) {
        self.send(b"runcommand\n");
        self.send_block(words.join("\0").as_bytes());
    }

    /// Blocks up to the exit code; neighbours of one channel are joined. Questions get `answers`, then nothing.
    fn answer(&mut self, answers: &[&str]) -> Vec<Block> {
        let mut answers = answers.iter();
        let mut blocks: Vec<Block> = Vec::new();
        while let Some((channel, text)) = self.block() {
            if channel.is_ascii_uppercase() {
                let answer = answers.next().copied().unwrap_or_default();
                self.send_block(answer.as_bytes());
            }
            match blocks.last_mut() {
                Some((last, all)) if *last == channel && channel.is_ascii_lowercase() => {
                    all.push_str(&text);
                }
                _ => blocks.push((channel, text)),
            }
            if channel == 'r' {
                break;
            }
        }
        blocks
    }
}

impl Server {
    fn start(program: &Path, directory: &Path, options: &[&str]) -> Server {
        let mut process = Command::new(program)
            .args(["serve", "--cmdserver", "pipe"])
            .args(options)
            .current_dir(directory)
            .env("HGRCPATH", directory.with_file_name("hgrc"))
            .env("HGUSER", "u")
            .env_remove("HGPLAIN")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let connection = Connection {
            input: process.stdin.take().unwrap(),
            output: process.stdout.take().unwrap(),
        };
        Server {
            process,
            connection,
        }
    }

    /// The same after its first block.
    fn ready(program: &Path, directory: &Path, options: &[&str]) -> Server {
        let mut server = Server::start(program, directory, options);
        let (channel, hello) = server.connection.block().unwrap();
        let pid = server.process.id();
        assert_eq!(channel, 'o');
        assert!(hello.starts_with("capabilities: getencoding runcommand\nencoding: UTF-8\n"));
        assert!(hello.contains(&format!("\npid: {pid}\npgid: ")), "{hello}");
        server
    }

    fn run(&mut self, words: &[&str], answers: &[&str]) -> Vec<Block> {
        self.connection.request(words);
        self.connection.answer(answers)
    }

    /// Closes the input; the exit code, the rest of the output, and the standard error.
    fn end(self) -> (Option<i32>, String, String) {
        drop(self.connection.input);
        let mut process = self.process;
        let (mut out, mut err) = (String::new(), String::new());
        let mut output = self.connection.output;
        output.read_to_string(&mut out).unwrap();
        let mut errors = process.stderr.take().unwrap();
        errors.read_to_string(&mut err).unwrap();
        (process.wait().unwrap().code(), out, err)
    }
}

/// A call and the answers to its questions.
type Call = (&'static [&'static str], &'static [&'static str]);

/// Both programs answer the calls alike, each in its copy.
#[track_caller]
fn same_calls(twin: &Twin, options: &[&str], calls: &[Call]) {
    let roots = [twin.theirs(), twin.ours()];
    let [theirs, ours] = [hg_program(), our_hg()];
    let mut servers = [
        Server::ready(&theirs, roots[0], options),
        Server::ready(&ours, roots[1], options),
    ];
    for (words, answers) in calls {
        let [theirs, ours] = servers.each_mut().map(|server| server.run(words, answers));
        let above = roots.map(|root| root.parent().unwrap().to_str().unwrap().to_owned());
        let ours: Vec<Block> = ours
            .into_iter()
            .map(|(channel, text)| (channel, text.replace(&above[1], &above[0])))
            .collect();
        assert_eq!(ours, theirs, "{words:?}");
    }
    let [theirs, ours] = servers.map(Server::end);
    assert_eq!(ours, theirs);
}

/// Three changesets; a file is removed in one head and changed in the other.
fn two_heads(hg: &Hg, path: &Path) {
    std::fs::create_dir_all(path).unwrap();
    hg.run(path, &["init"]);
    let commit = |text: &str| hg.run(path, &["commit", "-Am", text, "-d", "0 0", "-u", "u"]);
    std::fs::write(path.join("a"), "a\n").unwrap();
    commit("one");
    hg.run(path, &["remove", "a"]);
    commit("two");
    hg.run(path, &["update", "-r", "0"]);
    std::fs::write(path.join("a"), "b\n").unwrap();
    commit("three");
}

/// Calls in one process, each with the input that it asks for.
const MANY_CALLS: &[Call] = &[
    (&["root"], &[]),
    (&["log", "-T", "{rev} {desc}\n"], &[]),
    (&["nothing"], &[]),
    (&["root", "--cwd", ".."], &[]),
    (&["root"], &[]),
    (&["root", "-R", "missing"], &[]),
    (&["commit", "-m", "nothing"], &[]),
    (
        &[
            "commit",
            "-l",
            "-",
            "-d",
            "0 0",
            "--config",
            "ui.allowemptycommit=1",
        ],
        &["typed ", "text\n", ""],
    ),
    (&["tip"], &[]),
    (&["-q", "tip"], &[]),
    (&["tip", "-T", "{desc}\n", "--debug"], &[]),
    (&["tip", "-T", "{desc}\n"], &[]),
    (
        &[
            "root",
            "--config",
            "hooks.pre-root=echo hook; echo error >&2; cat",
        ],
        &[],
    ),
    (&["root", "--config", "hooks.pre-root=exit 3"], &[]),
    (
        &["-v", "root", "--config", "hooks.pre-root=echo $HG_ARGS"],
        &[],
    ),
    (
        &[
            "--config",
            "alias.x=!echo shell; echo error >&2; exit 3",
            "x",
        ],
        &[],
    ),
    (
        &[
            "commit",
            "--config",
            "ui.allowemptycommit=1",
            "-d",
            "0 0",
            "--config",
            "ui.editor=echo edits; echo error >&2; echo edited >",
        ],
        &[],
    ),
    (
        &[
            "commit",
            "-m",
            "x",
            "--config",
            "ui.allowemptycommit=1",
            "--config",
            "hooks.pretxncommit=echo hook; false",
        ],
        &[],
    ),
    (
        &["config", "ui.username", "--config", "ui.username=other"],
        &[],
    ),
    (&["config", "ui.username"], &[]),
    (
        &[
            "tip",
            "--pager",
            "always",
            "--config",
            "pager.pager=cat -n",
            "-T",
            "{desc}\n",
        ],
        &[],
    ),
];

#[test]
fn many_calls_are_answered_as_if_each_had_a_process() {
    same_calls(&Twin::writing(two_heads), &[], MANY_CALLS);
}

#[test]
fn questions_go_to_the_client() {
    let calls: &[Call] = &[
        (&["merge"], &[]),
        (&["update", "-C", "."], &[]),
        (&["merge", "--config", "ui.interactive=1"], &["x\n", "d\n"]),
        (&["status"], &[]),
        (&["update", "-C", "."], &[]),
        (&["merge", "--config", "ui.interactive=1"], &[]),
        (&["resolve", "-l"], &[]),
    ];
    same_calls(&Twin::writing(two_heads), &[], calls);
}

#[test]
fn options_of_the_server_count_for_its_calls() {
    let calls: &[Call] = &[
        (&["config", "ui.username"], &[]),
        (&["config", "ui.verbose"], &[]),
        (&["root"], &[]),
        (&["config", "ui.nontty"], &[]),
        (
            &["config", "ui.username", "--config", "ui.username=call"],
            &[],
        ),
    ];
    let options = ["--config", "ui.username=server", "-v"];
    same_calls(&Twin::writing(two_heads), &options, calls);
}

"""Runs commands of Mercurial in processes that fork from one that has loaded it already.

A command of `hg` takes a fifth of a second to start and a few milliseconds to run, and the tests
run thousands. As in Mercurial's own command server, each command has a process of its own.

    python -c THIS hg-program

The server prints where its socket is and ends with its standard input. A call is one connection: fields that end with a NUL byte
(see `fork.rs`), and the answer is the exit status of each command, negative for a signal. The commands of one call run in one process.
"""

import atexit
import gc
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time

# Before import on demand is enabled, so that all they need is loaded once for all commands.
from mercurial import bundle2, bundlerepo, commands, dispatch, hg, httppeer, localrepo
from mercurial import main_script, pycompat, shelve, statichttprepo, upgrade  # noqa: F401
from mercurial.hgweb import server as web  # noqa: F401
from hgext import amend, histedit, rebase  # noqa: F401
import hgdemandimport


# What the tests call most, in a repository that is empty before the first.
USUAL = [
    "branch x",
    "commit -m a -u a --config ui.allowemptycommit=1",
    "update -r null",
    "commit -A -m b -u a --config ui.allowemptycommit=1",
    "log --debug -G",
    "log -r all()-merge() -T {node|short}{join(bookmarks,'-')}{phase}\n",
    "status -A",
    "diff -r 0",
    "bookmark b",
    "merge -r 0",
    "resolve -l",
    "commit -m c -u a",
    "update -q -C 0",
    "summary",
    "heads",
    "debugstate --no-dates",
    "debugobsolete",
    "verify",
]


def main():
    """Serves; returns only in the process of a call, once that looks as if just started."""
    program = os.fsencode(sys.argv[1])
    directory = tempfile.mkdtemp()
    warm_up(program, os.path.join(directory, "warm"))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.join(directory, "socket"))
    listener.listen(64)
    ended, end = os.pipe()
    os.set_blocking(end, False)
    signal.set_wakeup_fd(end)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # what it has to say comes through the pipe
    waiting = {}
    gc.freeze()  # or the collector would touch, and so copy, every page
    print(listener.getsockname(), flush=True)
    while True:
        ready, _, _ = select.select([listener, ended, 0], [], [])
        if 0 in ready:
            shutil.rmtree(directory)
            os._exit(0)
        if ended in ready:
            os.read(ended, 4096)
            report_ends(waiting)
        if listener in ready:
            connection, _ = listener.accept()
            worker = os.fork()
            if worker == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.close(ended)
                os.close(end)
                for other in [listener, *waiting.values()]:
                    other.close()
                return connection, program, read_call(connection)
            waiting[worker] = connection


def warm_up(program, directory):
    """Has the usual commands load and compile what they need, once for all."""
    kept = os.dup(1), os.dup(2), os.getcwd()
    for words in [f"init {directory}", *USUAL]:
        outputs = [b"/dev/null", b"/dev/null"]
        run_command(program, outputs, [os.fsencode(word) for word in words.split(" ")])
        os.chdir(directory)
        with open("a", "a") as changed:
            changed.write(words)
    for descriptor in (1, 2):
        os.dup2(kept[descriptor - 1], descriptor)
        os.close(kept[descriptor - 1])
    os.chdir(kept[2])


def report_ends(waiting):
    """Tells the status of each process that has ended to its caller."""
    while waiting:
        worker, status = os.waitpid(-1, os.WNOHANG)
        if worker == 0:
            return
        with waiting.pop(worker) as connection:
            connection.sendall(b"%d" % os.waitstatus_to_exitcode(status))


def read_call(connection):
    """Takes the directory, the input and the variables of a call; returns the outputs and arguments of its commands."""
    with connection.makefile("rb") as reader:
        fields = iter(reader.read().split(b"\0")[:-1])

    def take_list():
        return [next(fields) for _ in range(int(next(fields)))]

    os.chdir(next(fields))
    redirect(0, next(fields), os.O_RDONLY)
    os.environb.clear()
    os.environb.update(field.split(b"=", 1) for field in take_list())
    time.tzset()
    return [([next(fields), next(fields)], take_list()) for _ in range(int(next(fields)))]


def redirect(descriptor, name, mode):
    opened = os.open(name, mode)
    os.dup2(opened, descriptor)
    os.close(opened)


def begin_command(program, outputs, arguments):
    for descriptor, name in enumerate(outputs, 1):
        redirect(descriptor, name, os.O_RDWR)
    pycompat.sysargv[:] = [program] + arguments
    sys.argv[:] = [os.fsdecode(argument) for argument in pycompat.sysargv]
    # What Mercurial runs where it needs itself again.
    sys.modules["__main__"].__file__ = sys.argv[0]


def run_command(program, outputs, arguments):
    """Returns the exit status. Other commands may follow: `dispatch.run` would close the outputs."""
    begin_command(program, outputs, arguments)
    request = main_script.request(arguments)
    status = dispatch.dispatch(request) & 255
    for stream in (request.ui.fout, request.ui.ferr, sys.stdout, sys.stderr):
        stream.flush()
    return status


connection, program, commands = main()
hgdemandimport.enable()
gc.disable()  # no command lives long enough to need it
*first, last = commands
for command in first:
    connection.sendall(b"%d " % run_command(program, *command))
connection.close()
begin_command(program, *last)
try:
    dispatch.run()
except SystemExit as end:
    # Python's own end takes longer than most commands: it touches, and so copies, every page.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(end.code or 0)

"""Runs commands of Mercurial in processes that fork from one that has loaded it already.

A command of `hg` takes a fifth of a second to start and a few milliseconds to run, and the tests
run thousands. As in Mercurial's own command server, each command has a process of its own.

    python -c THIS hg-program

The server prints where its socket is and ends with its standard input. A call is one connection: fields that end with a NUL byte
(see `fork.rs`), and the answer is the exit status, negative for a signal.
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
from mercurial import pycompat, shelve, statichttprepo, upgrade  # noqa: F401
from mercurial.hgweb import server as web  # noqa: F401
from hgext import amend, histedit, rebase  # noqa: F401
import hgdemandimport


def main():
    """Serves; returns only in the process of a command, once that looks as if just started."""
    program = os.fsencode(sys.argv[1])
    directory = tempfile.mkdtemp()
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
                return become_command(connection, program)
            waiting[worker] = connection


def report_ends(waiting):
    """Tells the status of each process that has ended to its caller."""
    while waiting:
        worker, status = os.waitpid(-1, os.WNOHANG)
        if worker == 0:
            return
        with waiting.pop(worker) as connection:
            connection.sendall(b"%d" % os.waitstatus_to_exitcode(status))


def become_command(connection, program):
    with connection, connection.makefile("rb") as reader:
        fields = reader.read().split(b"\0")[:-1]
    directory, *streams, variables = fields[:5]
    arguments = fields[5 + int(variables) :]
    os.chdir(directory)
    for descriptor, name in enumerate(streams):
        opened = os.open(name, os.O_RDWR if descriptor else os.O_RDONLY)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.environb.clear()
    os.environb.update(field.split(b"=", 1) for field in fields[5 : 5 + int(variables)])
    time.tzset()
    pycompat.sysargv[:] = [program] + arguments
    sys.argv[:] = [os.fsdecode(argument) for argument in pycompat.sysargv]
    # What Mercurial runs where it needs itself again.
    sys.modules["__main__"].__file__ = sys.argv[0]


main()
hgdemandimport.enable()
try:
    dispatch.run()
except SystemExit as end:
    # Python's own end takes longer than most commands: it touches, and so copies, every page.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(end.code or 0)

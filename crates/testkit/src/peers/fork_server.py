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
from mercurial import pycompat, statichttprepo, upgrade  # noqa: F401
from mercurial.hgweb import server as web  # noqa: F401
import hgdemandimport


def main():
    """Serves; returns only in the process of a command, once that looks as if just started."""
    program = os.fsencode(sys.argv[1])
    directory = tempfile.mkdtemp()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.join(directory, "socket"))
    listener.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who answer
    gc.freeze()  # or the collector would touch, and so copy, every page
    print(listener.getsockname(), flush=True)
    while True:
        ready, _, _ = select.select([listener, 0], [], [])
        if 0 in ready:
            shutil.rmtree(directory)
            os._exit(0)
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return answer(connection, program)
        connection.close()


def answer(connection, program):
    with connection.makefile("rb") as reader:
        fields = reader.read().split(b"\0")[:-1]
    worker = os.fork()
    if worker:
        _, status = os.waitpid(worker, 0)
        connection.sendall(b"%d" % os.waitstatus_to_exitcode(status))
        os._exit(0)
    connection.close()
    directory, out, err, variables = fields[:4]
    arguments = fields[4 + int(variables) :]
    os.chdir(directory)
    for descriptor, name in enumerate([b"/dev/null", out, err]):
        opened = os.open(name, os.O_RDWR if descriptor else os.O_RDONLY)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.environb.clear()
    os.environb.update(field.split(b"=", 1) for field in fields[4 : 4 + int(variables)])
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

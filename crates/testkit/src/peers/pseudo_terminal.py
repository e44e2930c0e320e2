"""Runs a program in a pseudo-terminal and types keys.

Arguments: a text to wait for before the keys are typed, the keys, signals to be sent then (names between commas, or
nothing; GONE closes the terminal and sends none), and the program with its arguments. The keys go in pieces between commas, each once the program is silent;
"," itself cannot be typed. Prints the exit code, whether the terminal has its old modes, how often a screen was opened
and closed, and what was shown without one, after a line each.
"""
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from fcntl import ioctl

ready, keys, signals = (text.encode() for text in sys.argv[1:4])
LIMIT = 30
SILENCE = 0.15

child, terminal = pty.fork()
if child == 0:
    ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    if "GONE" in sys.argv[3].split(","):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # The modes are read before the program changes them.
    sys.stdin.readline()
    os.execv(sys.argv[4], sys.argv[4:])
before = termios.tcgetattr(terminal)
os.write(terminal, b"\n")
shown = b""
end = time.monotonic() + LIMIT
pieces = keys.split(b",") if keys else []
sent = [name for name in signals.decode().split(",") if name]
is_ready = not ready
while time.monotonic() < end:
    readable = select.select([terminal], [], [], SILENCE)[0]
    if readable:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
        is_ready = is_ready or ready in shown
    elif is_ready and pieces and 0 < shown.count(b"\x1b[?1049h") == shown.count(b"\x1b[?1049l"):
        # The screen is away: an editor runs, and typed keys might be lost.
        continue
    elif is_ready and pieces:
        os.write(terminal, pieces.pop(0))
    elif is_ready and sent and sent[0] == "GONE":
        os.close(terminal)
        terminal = None
        break
    elif is_ready and sent:
        os.kill(child, getattr(signal, "SIG" + sent.pop(0)))
else:
    os.kill(child, signal.SIGKILL)
ended, status = 0, 0
while not ended:
    ended, status = os.waitpid(child, os.WNOHANG)
    if not ended and time.monotonic() > end:
        os.kill(child, signal.SIGKILL)
    time.sleep(0.02)
code = os.waitstatus_to_exitcode(status)
after = termios.tcgetattr(terminal) if terminal is not None else None
opened, closed = shown.count(b"\x1b[?1049h"), shown.count(b"\x1b[?1049l")
outside = re.sub(rb"\x1b\[\?1049h.*?(\x1b\[\?1049l|$)", b"", shown, flags=re.S)
outside = re.sub(rb"\x1b(\[[0-9;?]*[a-zA-Z]|[()][A-Z0-9]|[>=])", b"", outside)
# Marks of a library that edits lines; and lines that others have overwritten, such as those of progress.
outside = outside.replace(b"\x01", b"").replace(b"\x02", b"").replace(b"\r\n", b"\n")
outside = b"\n".join(line.rsplit(b"\r", 1)[-1] for line in outside.split(b"\n")).lstrip(b"\n")
print(code)
print(before == after)
print(opened == closed, opened > 0)
sys.stdout.flush()
sys.stdout.buffer.write(outside)

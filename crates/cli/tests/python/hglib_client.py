"""python-hglib, a client of the command server, over its range. Prints what it got, for comparison.

It fails if a method of the client was neither called nor explained.
"""

import inspect
import io
import os
import shutil

import hglib
from hglib.util import b

PROGRAM = os.environ["PROGRAM"]
ROOT = os.environ["ROOT"]
DATE = b("2020-01-02 03:04:05 +0100")

hglib.HGPATH = PROGRAM

NOT_CALLED = {
    "grep": "no command of this name yet",
    "clone": "called as the function of the module",
    "init": "called as the function of the module",
    "open": "called by the function of the module",
    "runcommand": "called by rawcommand",
    "setcberr": "as setcbout",
    "setcbprompt": "as the argument of merge",
}
called = set()


def show(name, value):
    text = repr(value).replace(ROOT, "ROOT")
    print(f"{name}: {text}")


def attempt(name, call):
    """The value of a call, or the client's error."""
    try:
        show(name, call())
    except hglib.error.CommandError as error:
        # A client sees failures in pieces of any size: only their sum is compared.
        show(name, ("error", error.ret, error.out, error.err))
    except hglib.error.ServerError as error:
        show(name, ("server error", str(error)))
    except ValueError as error:
        show(name, ("value", str(error)))


def write(client, name, text):
    with open(os.path.join(client.root().decode(), name), "w") as file:
        file.write(text)


def local_work(client):
    show("encoding", client.encoding)
    show("version", isinstance(client.version, tuple))
    write(client, "a", "one\n")
    write(client, "b", "b\n")
    attempt("status", lambda: client.status())
    attempt("add", lambda: client.add([b("a")]))
    attempt("add nothing", lambda: client.add([b("nothing")]))
    attempt("commit", lambda: client.commit(b("first"), addremove=True, date=DATE, user=b("u")))
    attempt("commit nothing", lambda: client.commit(b("again")))
    attempt("commit nothing to say", lambda: client.commit())
    write(client, "a", "one\ntwo\n")
    attempt("changed", lambda: client.status(modified=True))
    attempt("diff", lambda: client.diff([b("a")], nodates=True))
    attempt("commit", lambda: client.commit(b("second\nline"), date=DATE, user=b("u")))
    message = os.path.join(ROOT, "message")
    with open(message, "w") as file:
        file.write("from a file\n")
    attempt("copy", lambda: client.copy(b("a"), b("c")))
    attempt("commit", lambda: client.commit(logfile=b(message), date=DATE, user=b("u")))
    attempt("move", lambda: client.move(b("b"), b("d")))
    attempt("commit", lambda: client.commit(b("moved"), date=DATE, user=b("u")))
    attempt("copies", lambda: client.status(change=b("tip"), copies=True))
    attempt("amend", lambda: client.commit(b("amended"), amend=True, date=DATE, user=b("u")))
    attempt("remove", lambda: client.remove([b("d")]))
    attempt("revert", lambda: client.revert([b("d")]))
    attempt("forget", lambda: client.forget([b("c")]))
    attempt("addremove", lambda: client.addremove())
    attempt("status", lambda: client.status())


def history(client):
    attempt("log", lambda: client.log())
    attempt("log", lambda: client.log(b("0:1"), files=[b("a")]))
    attempt("log", lambda: client.log(keyword=b("second")))
    attempt("log", lambda: client.log(b("nothing")))
    attempt("tip", lambda: client.tip())
    attempt("heads", lambda: client.heads())
    attempt("heads", lambda: client.heads([b("nothing")]))
    attempt("parents", lambda: client.parents())
    show("manifest", list(client.manifest()))
    show("manifest", list(client.manifest(all=True)))
    show("annotate", list(client.annotate([b("a")], number=True, user=True)))
    attempt("cat", lambda: client.cat([b("a")], rev=b("0")))
    attempt("export", lambda: client.export([b("1")], nodates=True))
    attempt("identify", lambda: client.identify(num=True, branch=True))
    attempt("summary", lambda: client.summary())
    attempt("config", lambda: client.config([b("ui"), b("paths")]))
    attempt("paths", lambda: client.paths())
    attempt("paths", lambda: client.paths(b("nothing")))
    show("verify", "4 changesets" in client.rawcommand([b("verify")]).decode())


def names(client):
    attempt("bookmark", lambda: client.bookmark(b("mark")))
    attempt("bookmarks", lambda: client.bookmarks())
    attempt("bookmark", lambda: client.bookmark(b("new"), rename=b("mark")))
    attempt("bookmark", lambda: client.bookmark(b("new")))
    attempt("tag", lambda: client.tag(b("v1"), local=True))
    attempt("tags", lambda: client.tags())
    attempt("branch", lambda: client.branch(b("side")))
    attempt("branch", lambda: client.branch())
    attempt("branch", lambda: client.branch(b("default")))
    attempt("branch", lambda: client.branch(clean=True))
    attempt("branches", lambda: client.branches())
    attempt("phase", lambda: client.phase([b("0")]))
    attempt("phase", lambda: client.phase([b("0")], public=True))
    attempt("phase", lambda: client.phase([b("0:1")]))


def merging(client):
    """Two heads that need a person: hglib decides about prompts."""
    attempt("update", lambda: client.update(b("0")))
    write(client, "a", "zero\none\n")
    attempt("commit", lambda: client.commit(b("other head"), date=DATE, user=b("u")))
    show("heads", len(client.heads()))
    attempt("merge", lambda: client.merge())
    attempt("resolve", lambda: client.resolve(listfiles=True))
    attempt("commit", lambda: client.commit(b("merged"), date=DATE, user=b("u")))
    attempt("update", lambda: client.update(b("1"), clean=True))
    write(client, "a", "conflict\n")
    attempt("commit", lambda: client.commit(b("conflict"), date=DATE, user=b("u")))
    attempt("merge", lambda: client.merge(tool=b(":fail")))
    attempt("resolve", lambda: client.resolve(listfiles=True))
    attempt("resolve", lambda: client.resolve([b("a")], mark=True))
    attempt("resolve", lambda: client.resolve(listfiles=True))
    attempt("update", lambda: client.update(b("0"), check=True))
    attempt("update", lambda: client.update(b("."), clean=True))
    attempt("remove", lambda: client.remove([b("a")]))
    attempt("commit", lambda: client.commit(b("without a"), date=DATE, user=b("u")))
    asked = []

    def answer(output):
        asked.append(output[-40:])
        return b("d")

    attempt("merge", lambda: client.merge(b("4"), cb=answer))
    show("asked", asked)
    attempt("update", lambda: client.update(b("."), clean=True))
    attempt("merge", lambda: client.merge(b("4"), cb=hglib.merge.handlers.noninteractive))
    attempt("update", lambda: client.update(b("."), clean=True))
    attempt("merge", lambda: client.merge(b("4")))
    attempt("update", lambda: client.update(b("tip"), clean=True))
    attempt("backout", lambda: client.backout(b("tip"), message=b("back"), date=DATE, user=b("u")))


def exchange(client):
    other = os.path.join(ROOT, "other")
    hglib.clone(b(client.root().decode()), b(other))
    with hglib.open(other) as clone:
        attempt("paths", lambda: clone.paths())
        attempt("incoming", clone.incoming)
        write(client, "e", "e\n")
        attempt("commit", lambda: client.commit(b("e"), addremove=True, date=DATE, user=b("u")))
        attempt("incoming", lambda: clone.incoming())
        attempt("pull", lambda: clone.pull(update=True))
        attempt("pull", lambda: clone.pull())
        write(clone, "f", "f\n")
        attempt("commit", lambda: clone.commit(b("f"), addremove=True, date=DATE, user=b("u")))
        attempt("outgoing", lambda: clone.outgoing())
        attempt("push", lambda: clone.push())
        attempt("push", lambda: clone.push())
        attempt("push", lambda: clone.push(b("nowhere")))
    bundle = os.path.join(ROOT, "all.hg")
    attempt("bundle", lambda: client.bundle(b(bundle), all=True))
    third = os.path.join(ROOT, "third")
    hglib.init(b(third))
    with hglib.open(third) as empty:
        attempt("unbundle", lambda: empty.rawcommand([b("unbundle"), b(bundle)]))
        show("tip", empty.tip().node == client.tip().node)


def patches(client):
    """A changeset as text, by its file and through the input channel, and as an archive."""
    patch = os.path.join(ROOT, "first.patch")
    attempt("export", lambda: client.export([b("0")], output=b(patch)))
    path = os.path.join(ROOT, "patched")
    hglib.init(b(path))
    with hglib.open(path) as patched:
        attempt("import", lambda: patched.import_([b(patch)], exact=True))
        show("same", patched.tip().node == client[0].node())
        client.export([b("1")], output=b(patch))
        with open(patch, "rb") as file:
            attempt("import", lambda: patched.import_(file, message=b("typed"), user=b("u"), date=DATE))
        show("tip", patched.tip().desc)
    files = os.path.join(ROOT, "files")
    attempt("archive", lambda: client.archive(b(files), rev=b("0")))
    show("files", sorted(os.listdir(files)))


def channels(client):
    """What the server sends is seen as it comes; files and hooks that change are seen at the next command."""
    traced = []
    client.setprotocoltrace(lambda direction, channel, data: traced.append((direction, channel)))
    client.root()
    client.setprotocoltrace()
    show("traced", traced)
    seen = []
    client.setcbout(lambda data: seen.append(data))
    client.root()
    client.setcbout(None)
    show("callback", b"".join(seen))
    read = io.BytesIO(b("typed\ntext"))
    write(client, "g", "g\n")
    client.add([b("g")])
    arguments = [b("commit"), b("-l"), b("-"), b("-d0 0"), b("-uu")]
    attempt("input", lambda: client.rawcommand(arguments, input=read.read))
    show("description", client.tip().desc)
    hooks = b("hooks.pre-root=echo hook; echo error >&2")
    attempt("hook", lambda: client.rawcommand([b("root"), b("--config"), hooks]))
    attempt("refused", lambda: client.rawcommand([b("root"), b("--config"), b("hooks.pre-root=exit 7")]))
    attempt("other directory", lambda: client.rawcommand([b("root"), b("--cwd"), b(os.path.join(ROOT, "third"))]))
    attempt("back again", lambda: client.root())
    attempt("unknown", lambda: client.rawcommand([b("nothing")]))
    with open(os.path.join(client.root().decode(), ".hg/hgrc"), "a") as file:
        file.write("[alias]\nnew = log -r 0 -T new\\n\n")
    attempt("new alias", lambda: client.rawcommand([b("new")]))


def trace(cls):
    """Notes which methods of a class are called."""

    def noting(name, method):
        def call(*args, **kwargs):
            called.add(name)
            return method(*args, **kwargs)

        return call

    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_"):
            setattr(cls, name, noting(name, method))
            yield name


def main():
    methods = set(trace(hglib.client.hgclient))
    path = os.path.join(ROOT, "repo")
    shutil.rmtree(path, ignore_errors=True)
    client = hglib.init(b(path))
    # Names of files are relative to the directory of the server.
    os.chdir(path)
    client.open()
    for part in [local_work, history, names, merging, exchange, patches, channels]:
        print("==", part.__name__)
        part(client)
    attempt("close", lambda: client.close())
    with hglib.open(path, configs=["ui.username=someone"]) as client:
        attempt("configured", lambda: client.config(b("ui")))
    with hglib.open(path, encoding="UTF-8") as client:
        show("hidden", len(client.log(hidden=True)))
    missing = methods - called - set(NOT_CALLED)
    assert not missing, f"not called: {sorted(missing)}"


if __name__ == "__main__":
    main()

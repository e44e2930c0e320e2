#!/usr/bin/env python3
"""peers.py: Varve against PostgreSQL, SQLite and nginx, and against the limits of codecs and of the disk.

All are measured in the same run, in turns, the order reversed in every other round. Documents come from
corpus/make_docs.py: 1 KB each. Peers come from Debian's packages; one that is not there is left out, and that is said:

  postgresql      the same documents as jsonb, with a primary key and an index on the same member; fsync on
  (python3)       SQLite with the same, write-ahead log, synchronous = FULL; in the process that measures
  nginx-light     a file of the same size, for the limit of a GET
  wrk             requests to Varve and nginx
  libzstd1, libsnappy1v5, libdeflate0, coreutils     codecs and the disk alone
"""

import argparse
import contextlib
import ctypes
import ctypes.util
import getpass
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

import databases
import measure

sys.path.insert(0, os.path.join(measure.HERE, "corpus"))
import make_docs  # noqa: E402

CLIENTS, SECONDS, BATCH, ROWS = 16, 6, 1000, 25
ROUNDS = 3
# Times better than the peer.
TARGETS = {"get": 1.5, "put": 2, "query": 2, "load": 3, "file": 3}
FILE_TARGET = 0.8
MAP = "function (doc) { if (doc.created) emit(doc.created, null); }"


def missing(what, package):
    print(f"peers.py: {what} is not there (Debian: {package}); it is left out", file=sys.stderr)


def free_port():
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Varve:
    """Varve, asked over HTTP."""

    subject = "varve"

    def __init__(self, options):
        self.round = databases.Round(options, {})
        self.options = options

    def note_of(self, work):
        return self.round.figures.pop(work)[0]

    def load(self, bodies):
        self.round.load(bodies, BATCH, 1, "bench")
        rate = self.note_of(f"load/1x{BATCH}")
        view = {"views": {"created": {"map": MAP}}}
        self.round.server.request("PUT", "/bench/_design/range", json.dumps(view).encode())
        self.round.server.request("GET", "/bench/_design/range/_view/created?limit=1")
        return rate

    def requests(self, script):
        self.round.requests(script, script)
        return self.note_of(script)

    def get(self):
        return self.requests("get")

    def put(self):
        return self.requests("put")

    def query(self):
        return self.requests("range")

    def file(self):
        """The database and its view, as the files of the others hold their index too."""
        self.round.compact()
        server = self.round.server
        server.request("POST", "/bench/_compact/range", b"{}")
        while True:
            info = json.loads(server.request("GET", "/bench/_design/range/_info"))["view_index"]
            if not info["compact_running"]:
                return self.note_of("compaction/file") + info["sizes"]["file"] / 1e6
            time.sleep(0.01)

    def end(self):
        self.round.end()


class PostgreSQL:
    """A new cluster of its own, asked by pgbench with prepared statements."""

    def __init__(self, options, binaries):
        self.options, self.binaries = options, binaries
        self.directory = tempfile.mkdtemp()
        # PostgreSQL does not run as root.
        self.prefix = []
        if os.geteuid() == 0:
            self.prefix = ["runuser", "-u", "postgres", "--"]
            shutil.chown(self.directory, "postgres")
        self.user = "postgres" if self.prefix else getpass.getuser()
        data = os.path.join(self.directory, "data")
        self.call("initdb", "-D", data, "-A", "trust", "--no-sync")
        self.call("pg_ctl", "-D", data, "-w", "-l", os.path.join(self.directory, "log"), "-o",
                  f"-k {self.directory} -c listen_addresses='' -c shared_buffers=1GB -c fsync=on "
                  "-c synchronous_commit=on", "start")
        self.data = data
        self.sql("CREATE TABLE docs (id text PRIMARY KEY, doc jsonb NOT NULL);"
                 "CREATE INDEX created ON docs (((doc->>'created')::bigint));"
                 "CREATE SEQUENCE new_ids;")
        self.subject = "postgresql " + self.sql("SHOW server_version").split()[0]

    def call(self, program, *words, text=""):
        command = [*self.prefix, os.path.join(self.binaries, program), *words]
        # pg_ctl's server would keep a pipe open.
        quiet = program == "pg_ctl"
        done = subprocess.run(command, input=text, cwd=self.directory, text=True,
                              stdout=subprocess.DEVNULL if quiet else subprocess.PIPE,
                              stderr=subprocess.DEVNULL if quiet else subprocess.PIPE)
        if done.returncode != 0:
            raise SystemExit(f"{program}: {done.stderr}")
        return done.stdout

    def connection(self):
        return ["-h", self.directory, "-U", self.user]

    def sql(self, text):
        return self.call("psql", *self.connection(), "-d", "postgres", "-qAtX", "-v",
                         "ON_ERROR_STOP=1", text=text)

    def load(self, bodies):
        path = os.path.join(self.directory, "load.sql")
        with open(path, "w") as out:
            for body in bodies:
                out.write("COPY docs FROM STDIN;\n")
                for doc in json.loads(body)["docs"]:
                    escaped = json.dumps(doc, separators=(",", ":")).replace("\\", "\\\\")
                    out.write(f"{doc['_id']}\t{escaped}\n")
                out.write("\\.\n")
        os.chmod(path, 0o644)
        start = time.monotonic()
        self.call("psql", *self.connection(), "-d", "postgres", "-qX", "-v", "ON_ERROR_STOP=1",
                  "-f", path)
        seconds = time.monotonic() - start
        os.remove(path)
        self.sql("VACUUM ANALYZE docs")
        return self.options.count / seconds

    def requests(self, script, *more):
        path = os.path.join(self.directory, "script.sql")
        with open(path, "w") as out:
            out.write(script)
        os.chmod(path, 0o644)
        printed = self.call("pgbench", *self.connection(), "-n", "-M", "prepared", "-c", str(CLIENTS), "-j",
                            "2", "-T", str(SECONDS), *more, "-f", path, "postgres")
        if re.search(r"number of failed transactions: [1-9]", printed):
            raise SystemExit(printed)
        return float(re.search(r"^tps = ([0-9.]+)", printed, re.M)[1])

    def get(self):
        return self.requests(f"\\set k random(0, {self.options.count - 1})\n"
                             "SELECT doc FROM docs WHERE id = 'doc' || lpad(:k::text, 9, '0');\n")

    def put(self):
        numbers = [round(i * 41.3971 % 1000, 7) for i in range(1, 41)]
        doc = json.dumps({"type": "reading", "level": 42, "data": numbers,
                          "note": "spring thaw silt and clay " * 20})
        return self.requests("INSERT INTO docs VALUES ('new-' || nextval('new_ids'), :doc::jsonb);\n",
                             "-D", f"doc={doc}")

    def query(self):
        return self.requests(f"\\set k 1300000000 + 7 * random(0, {self.options.count - ROWS - 1})\n"
                             "SELECT id, doc FROM docs WHERE (doc->>'created')::bigint >= :k "
                             f"ORDER BY (doc->>'created')::bigint LIMIT {ROWS};\n")

    def file(self):
        self.sql("VACUUM FULL docs")
        return int(self.sql("SELECT pg_total_relation_size('docs')")) / 1e6

    def end(self):
        self.call("pg_ctl", "-D", self.data, "-w", "-m", "immediate", "stop")
        shutil.rmtree(self.directory)


class SQLite:
    """In the process that measures, without a network: one client."""

    subject = f"sqlite {sqlite3.sqlite_version}, in process"

    def __init__(self, options):
        self.options = options
        self.directory = tempfile.mkdtemp()
        self.path = os.path.join(self.directory, "db")
        self.database = sqlite3.connect(self.path, isolation_level=None)
        self.rng = random.Random(7)
        for text in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL",
                     "CREATE TABLE docs (id TEXT PRIMARY KEY, doc TEXT NOT NULL) WITHOUT ROWID",
                     "CREATE INDEX created ON docs (json_extract(doc, '$.created'))"):
            self.database.execute(text)

    def load(self, bodies):
        batches = []
        for body in bodies:
            docs = json.loads(body)["docs"]
            batches.append([(doc["_id"], json.dumps(doc, separators=(",", ":"))) for doc in docs])
        start = time.monotonic()
        for rows in batches:
            self.database.execute("BEGIN")
            self.database.executemany("INSERT INTO docs VALUES (?, ?)", rows)
            self.database.execute("COMMIT")
        return self.options.count / (time.monotonic() - start)

    def repeated(self, one):
        done, start = 0, time.monotonic()
        while time.monotonic() - start < SECONDS:
            one()
            done += 1
        return done / (time.monotonic() - start)

    def get(self):
        def one():
            key = f"doc{self.rng.randrange(self.options.count):09d}"
            if not self.database.execute("SELECT doc FROM docs WHERE id = ?", (key,)).fetchone():
                raise SystemExit(f"sqlite: {key} is not there")
        return self.repeated(one)

    def put(self):
        doc = json.dumps(make_docs.document(0, 1))

        def one():
            key = f"new-{self.rng.getrandbits(64):x}"
            self.database.execute("INSERT INTO docs VALUES (?, ?)", (key, doc))
        return self.repeated(one)

    def query(self):
        text = ("SELECT id, doc FROM docs WHERE json_extract(doc, '$.created') >= ? "
                f"ORDER BY json_extract(doc, '$.created') LIMIT {ROWS}")

        def one():
            first = 1_300_000_000 + 7 * self.rng.randrange(self.options.count - ROWS)
            if len(self.database.execute(text, (first,)).fetchall()) != ROWS:
                raise SystemExit("sqlite: rows are missing")
        return self.repeated(one)

    def file(self):
        self.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.database.execute("VACUUM")
        self.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return os.path.getsize(self.path) / 1e6

    def end(self):
        self.database.close()
        shutil.rmtree(self.directory)


def postgresql_binaries():
    """The directory of the newest installed server, or nothing."""
    root = "/usr/lib/postgresql"
    versions = sorted(os.listdir(root), key=int) if os.path.isdir(root) else []
    found = [os.path.join(root, version, "bin") for version in versions]
    return next((path for path in reversed(found) if os.path.exists(f"{path}/initdb")), None)


def documents(options, results):
    """GET, PUT, query of 25 by an index, load and file, against PostgreSQL and SQLite."""
    if not shutil.which("wrk"):
        missing("wrk", "wrk")
        return
    makers, binaries = [Varve], postgresql_binaries()
    if binaries:
        makers.append(lambda options: PostgreSQL(options, binaries))
    else:
        missing("PostgreSQL", "postgresql")
    makers.append(SQLite)
    bodies = list(make_docs.bodies(options.count, BATCH))
    figures = {}
    for number in range(ROUNDS):
        with contextlib.ExitStack() as ending:
            stores = []
            for make in makers:
                stores.append(make(options))
                ending.callback(stores[-1].end)
            # Files are measured while all have the same documents.
            for work, unit in [("load", "documents/s"), ("get", "requests/s"), ("query", "requests/s"),
                               ("file", "MB"), ("put", "requests/s")]:
                for store in stores if number % 2 == 0 else reversed(stores):
                    value = store.load(bodies) if work == "load" else getattr(store, work)()
                    subjects = figures.setdefault((work, unit), {})
                    subjects.setdefault(store.subject, []).append(value)
    ours = Varve.subject
    for (work, unit), values in figures.items():
        name = f"documents/{work}"
        for subject, runs in values.items():
            results.add(name, subject, unit, runs)
        for peer in values:
            if peer != ours:
                results.ratio(name, ours, peer, TARGETS[work], higher_is_better=work != "file")


@contextlib.contextmanager
def nginx(directory):
    """Serves the files of a directory; gives the URL."""
    port, home = free_port(), tempfile.mkdtemp()
    os.chmod(home, 0o755)
    with open(os.path.join(home, "nginx.conf"), "w") as out:
        out.write(f"""
daemon off; worker_processes 2; pid {home}/pid; error_log {home}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; open_file_cache max=1000;
  client_body_temp_path {home}/body; proxy_temp_path {home}/proxy; fastcgi_temp_path {home}/fastcgi;
  uwsgi_temp_path {home}/uwsgi; scgi_temp_path {home}/scgi;
  server {{ listen 127.0.0.1:{port}; root {directory}; default_type application/json; }}
}}""")
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    process = subprocess.Popen([program, "-c", f"{home}/nginx.conf", "-e", f"{home}/error.log"])
    for _ in range(100):
        with contextlib.suppress(OSError), contextlib.closing(socket.create_connection(("127.0.0.1", port))):
            break
        time.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        shutil.rmtree(home)


def wrk(url, database, query):
    env = dict(os.environ, LOGIN=databases.LOGIN, DATABASE=database, QUERY=query,
               LUA_PATH=f"{databases.LOAD}/?.lua")
    command = ["wrk", "-t2", f"-c{CLIENTS}", f"-d{SECONDS}s", "-s", f"{databases.LOAD}/query.lua", url]
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    found = json.loads(run.stdout.splitlines()[-1])
    if found["wrong"]:
        raise SystemExit(f"{url}: {found}")
    return found["requests"] / found["seconds"]


def one_file(options, results):
    """GET of one document of 1 KB, against nginx with the same bytes as a file."""
    if not (shutil.which("wrk") and (shutil.which("nginx") or os.path.exists("/usr/sbin/nginx"))):
        missing("nginx or wrk", "nginx-light, wrk")
        return
    varve = databases.Round(argparse.Namespace(varve=options.varve, count=1), {})
    varve.server.request("PUT", "/bench")
    body = json.dumps(make_docs.document(0, 2026), separators=(",", ":")).encode()
    varve.server.request("PUT", "/bench/doc000000000", body)
    directory = tempfile.mkdtemp()
    os.chmod(directory, 0o755)
    os.mkdir(os.path.join(directory, "bench"))
    answer = varve.server.request("GET", "/bench/doc000000000")
    with open(os.path.join(directory, "bench", "doc000000000"), "wb") as out:
        out.write(answer)
    values = {"varve": [], "nginx": []}
    with nginx(directory) as url:
        for number in range(ROUNDS + 1):
            servers = [("varve", varve.server.url), ("nginx", url)]
            for subject, base in servers if number % 2 else reversed(servers):
                rate = wrk(base, "bench", "doc000000000")
                if number:
                    values[subject].append(rate)
    varve.end()
    shutil.rmtree(directory)
    for subject, runs in values.items():
        results.add("file/get of 1 KB", subject, "requests/s", runs)
    results.ratio("file/get of 1 KB", "varve", "nginx", FILE_TARGET)


def shared(name):
    path = ctypes.util.find_library(name)
    return ctypes.CDLL(path) if path else None


def zstd_codec(level):
    library = shared("zstd")
    if not library:
        return None
    for function in ("ZSTD_compress", "ZSTD_decompress", "ZSTD_compressBound"):
        getattr(library, function).restype = ctypes.c_size_t
    size = ctypes.c_size_t
    return (f"zstd_{level}", lambda n: library.ZSTD_compressBound(size(n)),
            lambda out, room, raw: library.ZSTD_compress(out, size(room), raw, size(len(raw)), level),
            lambda out, room, part: library.ZSTD_decompress(out, size(room), part, size(len(part))))


def snappy_codec():
    library = shared("snappy")
    if not library:
        return None
    size = ctypes.c_size_t
    library.snappy_max_compressed_length.restype = size

    def compress(out, room, raw):
        length = size(room)
        library.snappy_compress(raw, size(len(raw)), out, ctypes.byref(length))
        return length.value

    def expand(out, room, part):
        length = size(room)
        library.snappy_uncompress(part, size(len(part)), out, ctypes.byref(length))
        return length.value
    return ("snappy", lambda n: library.snappy_max_compressed_length(size(n)), compress, expand)


def libdeflate_codec(level):
    library = shared("deflate")
    if not library:
        return None
    size, pointer = ctypes.c_size_t, ctypes.c_void_p
    library.libdeflate_alloc_compressor.restype = pointer
    library.libdeflate_alloc_decompressor.restype = pointer
    library.libdeflate_zlib_compress.restype = size
    library.libdeflate_zlib_compress_bound.restype = size
    packer = pointer(library.libdeflate_alloc_compressor(level))
    expander = pointer(library.libdeflate_alloc_decompressor())

    def expand(out, room, part):
        length = size(0)
        library.libdeflate_zlib_decompress(expander, part, size(len(part)), out, size(room),
                                           ctypes.byref(length))
        return length.value
    return (f"deflate_{level}", lambda n: library.libdeflate_zlib_compress_bound(packer, size(n)),
            lambda out, room, raw: library.libdeflate_zlib_compress(packer, raw, size(len(raw)), out,
                                                                    size(room)), expand)


def library_speeds(codec, pieces):
    """MB/s of compressing and of expanding, and stored bytes; every piece is compared."""
    _, bound, compress, expand = codec
    room = bound(max(map(len, pieces)))
    out = ctypes.create_string_buffer(room)
    back = ctypes.create_string_buffer(max(map(len, pieces)))
    spent, unpacked, stored = 0.0, 0.0, 0
    for raw in pieces:
        start = time.perf_counter()
        length = compress(out, room, raw)
        spent += time.perf_counter() - start
        part = out.raw[:length]
        stored += length
        start = time.perf_counter()
        expanded = expand(back, len(back), part)
        unpacked += time.perf_counter() - start
        if back.raw[:expanded] != raw:
            raise SystemExit(f"{codec[0]} does not give back what it compressed")
    total = sum(map(len, pieces)) / 1e6
    return total / spent, total / unpacked, stored


def codecs(options, results):
    """Varve's codecs against the libraries alone, on the same pieces of 1 MiB."""
    found = [("zstd", zstd_codec(3)), ("snappy", snappy_codec()), ("libdeflate", libdeflate_codec(6))]
    for name, codec in found:
        if not codec:
            missing(f"lib{name}".replace("liblib", "lib"),
                    {"zstd": "libzstd1", "snappy": "libsnappy1v5", "libdeflate": "libdeflate0"}[name])
    with tempfile.NamedTemporaryFile() as corpus:
        for body in make_docs.bodies(6000, BATCH):
            corpus.write(body)
        corpus.flush()
        with open(corpus.name, "rb") as source:
            pieces = list(iter(lambda: source.read(1 << 20), b""))
        ours = {}
        names = [codec[0] for _, codec in found if codec]
        words = [options.varve, "bench", "codec", corpus.name, "--json", "--runs", str(ROUNDS + 2)]
        for name in names:
            words += ["--codec", name]
        report = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
        for row in report["tables"]["codecs"]["rows"]:
            if row["dictionary"] == "-":
                ours[row["codec"]] = row
        for library, codec in found:
            if not codec:
                continue
            runs = [library_speeds(codec, pieces) for _ in range(ROUNDS + 1)][1:]
            for index, direction in enumerate(["compress", "decompress"]):
                name = f"codec/{codec[0]}/{direction}"
                results.add(name, "varve", "MB/s", ours[codec[0]][direction]["runs"])
                results.add(name, library, "MB/s", [run[index] for run in runs])
                results.ratio(name, "varve", library, 0.9)
            results.write(name=f"codec/{codec[0]}/stored", subject="varve", unit="bytes",
                          median=ours[codec[0]]["bytes_out"], library=runs[0][2], samples=1)


def disk(options, results):
    """What the disk takes for a synced write and for a copy, beside commits of one client."""
    directory = tempfile.mkdtemp(dir=options.directory)
    block, writes, megabytes = 4096, 200, 256
    synced, copied, puts = [], [], []
    source = os.path.join(directory, "source")
    with open(source, "wb") as out:
        for _ in range(megabytes):
            out.write(os.urandom(1 << 20))
    varve = databases.Round(argparse.Namespace(varve=options.varve, count=1), {})
    varve.server.request("PUT", "/bench")
    connection = varve.connect()
    for number in range(ROUNDS + 1):
        start = time.monotonic()
        subprocess.run(["dd", "if=/dev/zero", f"of={directory}/synced", f"bs={block}", f"count={writes}",
                        "oflag=dsync", "status=none"], check=True)
        synced.append((time.monotonic() - start) / writes * 1000)
        start = time.monotonic()
        subprocess.run(["cp", "--reflink=never", source, f"{directory}/copy"], check=True)
        copied.append(megabytes * 1.048576 / (time.monotonic() - start))
        start = time.monotonic()
        for k in range(writes):
            connection.request("PUT", f"/bench/{number}-{k}", b'{"a":1}', databases.HEADERS)
            answer = connection.getresponse()
            answer.read()
            if answer.status != 201:
                raise SystemExit(f"PUT: {answer.status}")
        puts.append((time.monotonic() - start) / writes * 1000)
    varve.end()
    shutil.rmtree(directory)
    results.add("disk/synced write of 4 KiB", "dd oflag=dsync", "ms", synced[1:])
    results.add("disk/synced write of 4 KiB", "varve", "ms", puts[1:])
    results.ratio("disk/synced write of 4 KiB", "varve", "dd oflag=dsync", 0.5, higher_is_better=False)
    results.add("disk/copy", "cp", "MB/s", copied[1:])


TABLES = {"documents": documents, "file": one_file, "codecs": codecs, "disk": disk}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--varve", default="target/release/varve")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--directory", help="where the disk is measured; usually that of temporary files")
    parser.add_argument("--only", action="append", choices=TABLES, help="only these parts")
    options = parser.parse_args()
    results = measure.Results("peers")
    for name, part in TABLES.items():
        if not options.only or name in options.only:
            part(options, results)


if __name__ == "__main__":
    main()

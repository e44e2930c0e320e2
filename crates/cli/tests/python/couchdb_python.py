"""couchdb: every method that asks a server, against Varve."""

import io
from datetime import datetime

import couchdb
from couchdb import design, http, mapping
from common import NAME, ORIGIN, PASSWORD, SERVER, Traced, account, equal, refused

MAP = "function (doc) { if (doc.type) emit(doc.type, doc.n); }"
FUNCTIONS = {
    "views": {"type": {"map": MAP, "reduce": "_sum"}, "all": {"map": "function (doc) { emit(doc._id, null); }"}},
    "shows": {"hello": "function (doc, req) { return {headers: {'X-Kind': 'show'}, body: 'hello ' + doc._id}; }"},
    "lists": {"ids": """function (head, req) {
        start({headers: {'Content-Type': 'text/plain'}});
        var row;
        while (row = getRow()) send(row.id + '\\n');
    }"""},
    "updates": {"add": "function (doc, req) { doc.n += Number(req.body); return [doc, String(doc.n)]; }"},
    "filters": {"odd": "function (doc, req) { return doc.n % 2 === 1; }"},
}


def main():
    on_server, on_database = set(), set()
    server = Traced(couchdb.Server(SERVER), on_server)
    servers(server)
    node()
    database = Traced(server.create("db"), on_database)
    documents(database)
    attachments(database)
    queries(database)
    functions(database)
    changes(database)
    upkeep(database)
    mapped(database._client)
    account(couchdb.Server, on_server, {})
    account(couchdb.Database, on_database, {})


def servers(server):
    equal(".".join(str(part) for part in server.version_info()), server.version())
    equal(server.tasks(), [])
    equal((len(server.uuids(3)), len(server.uuids())), (3, 1))
    client = server._client
    equal((bool(client), "none" in client, list(client), len(client)), (True, False, ["_replicator", "_users"], 2))
    server.create("gone")
    refused(http.PreconditionFailed, lambda: server.create("gone"))
    assert "gone" in client
    server.delete("gone")
    refused(http.ResourceNotFound, lambda: server.delete("gone"))
    # Paths of CouchDB 1: a node has them today.
    for call in [server.config, server.stats]:
        refused(http.ResourceNotFound, call)
    server.create("copied").save({"_id": "one"})
    done = server.replicate(f"{SERVER}/copied", f"{SERVER}/copy", create_target=True)
    equal((done["ok"], done["history"][0]["docs_written"], "one" in client["copy"]), (True, 1, True))
    for name in ["copied", "copy"]:
        server.delete(name)

    id, rev = server.add_user("ann", "of-green-gables", roles=["reader"])
    equal((id, rev[:2]), ("org.couchdb.user:ann", "1-"))
    refused(http.ResourceConflict, lambda: server.add_user("ann", "again"))
    guest = Traced(couchdb.Server(ORIGIN), set())
    assert guest.login("ann", "of-green-gables")
    refused(http.Unauthorized, lambda: guest.login("ann", "wrong"))
    # The client takes whatever header comes first for the cookie, so one is made as others make it.
    status, headers, _ = guest._client.resource.post_json("_session", {"name": "ann", "password": "of-green-gables"})
    token = headers["Set-Cookie"].split(";")[0].split("=", 1)[1]
    session = {"Cookie": f"AuthSession={token}"}
    equal(guest._client.resource.get_json("_session", session)[2]["userCtx"], {"name": "ann", "roles": ["reader"]})
    equal((server.login(NAME, PASSWORD) != "", server.verify_token(token), server.logout(token)), (True, True, True))
    server.remove_user("ann")
    refused(http.Unauthorized, lambda: guest.login("ann", "of-green-gables"))


def node():
    """Settings and statistics, which the client's methods find below a node."""
    local = couchdb.Server(f"{SERVER}/_node/_local")
    config = local.config()
    equal(config["admins"][NAME][:8], "-pbkdf2:")
    requests = local.stats("couchdb/httpd/requests")
    equal((requests["type"], requests["value"] > 0), ("counter", True))
    times = local.stats()["couchdb"]["request_time"]
    equal(times["type"], "histogram")
    value = times["value"]
    assert value["n"] > 0 and value["min"] <= value["median"] <= value["max"], value
    equal([percent for percent, _ in value["percentile"]], [50, 75, 90, 95, 99, 999])
    assert sum(count for _, count in value["histogram"]) == value["n"], value


def documents(db):
    equal((db.name, db.info()["doc_count"], bool(db._client)), ("db", 0, True))
    made = db.create({"n": 1})
    id, rev = db.save({"_id": "a/b ü", "type": "x", "n": 1})
    refused(http.ResourceConflict, lambda: db.save({"_id": "a/b ü"}))
    document = db.get("a/b ü")
    equal((document.id, document.rev, document["n"]), (id, rev, 1))
    document["n"] = 3
    db.save(document)
    equal([found["n"] for found in db.revisions("a/b ü")], [3, 1])
    equal(db.get("none", default=7), 7)
    plain = db._client
    plain["set"] = {"type": "y", "n": 10}
    equal(("set" in plain, len(plain), sorted(plain)), (True, 3, sorted([made, "a/b ü", "set"])))
    equal(db.copy("set", "copied")[:2], "1-")
    db.delete(db.get("copied"))
    del plain[made]
    refused(http.ResourceNotFound, lambda: plain["copied"])
    results = db.update([{"_id": f"b{n}", "type": "b", "n": n} for n in range(20)] + [{"_id": "set"}])
    equal([done for done, _, _ in results], [True] * 20 + [False])
    assert isinstance(results[-1][2], http.ResourceConflict)
    plain.security = {"members": {"roles": ["reader"]}}
    equal(plain.security, {"members": {"roles": ["reader"]}})


def attachments(db):
    document = db.get("set")
    db.put_attachment(document, io.BytesIO(b"plain"), "dir/t.txt", "text/plain")
    equal(db.get_attachment("set", "dir/t.txt").read(), b"plain")
    equal(db.get_attachment("set", "none", default=4), 4)
    db.delete_attachment(document, "dir/t.txt")
    assert "_attachments" not in db.get("set")


def queries(db):
    db.save({"_id": "_design/d", **FUNCTIONS})
    equal([(row.key, row.value) for row in db.view("d/type", group=True)], [("b", 190), ("x", 3), ("y", 10)])
    result = db.view("d/type", reduce=False, include_docs=True, descending=True, limit=2)
    equal(([row.doc["n"] for row in result], result.total_rows, result.offset), ([10, 3], 22, 0))
    equal([row.id for row in db.view("d/type", reduce=False)["b":"b"]][:3], ["b0", "b1", "b10"])
    equal([row.id for row in db.view("_all_docs", keys=["b3", "none"])], ["b3", None])
    equal(len(list(db.iterview("d/all", 7))), 22)
    # Views without a design document ended with CouchDB 2.
    failure = refused(http.ServerError, lambda: list(db.query(MAP)))
    equal(failure.args[0][0], 410)

    index = db.index()
    index["found", "n"] = [{"n": "asc"}]
    equal([(entry["ddoc"], entry["name"]) for entry in index], [(None, "_all_docs"), ("_design/found", "n")])
    query = {"selector": {"n": {"$gte": 17}}, "sort": ["n"]}
    equal([document["n"] for document in db.find(query)], [17, 18, 19])
    equal(db.explain(query)["index"]["name"], "n")
    del index["found", "n"]
    equal(len(list(index)), 1)


def functions(db):
    headers, body = db.show("d/hello", "set")
    equal((headers["X-Kind"], body.read()), ("show", b"hello set"))
    headers, body = db.list("d/ids", "d/all", limit=2)
    ids = "".join(f"{row.id}\n" for row in db.view("d/all", limit=2))
    equal(body.read().decode(), ids)
    headers, body = db.update_doc("d/add", "b1", body="5")
    equal((body.read(), db.get("b1")["n"]), (b"6", 6))


def changes(db):
    answer = db.changes(since=0, limit=2)
    equal((len(answer["results"]), answer["pending"] > 20), (2, True))
    odd = db.changes(filter="d/odd", include_docs=True)["results"]
    assert odd and all(row["doc"]["n"] % 2 == 1 for row in odd)
    chosen = db.changes(filter="_selector", _selector={"selector": {"n": {"$gt": 17}}})["results"]
    equal({row["id"] for row in chosen}, {"b18", "b19"})
    last = list(db.changes(feed="continuous", timeout=50, since=answer["last_seq"]))[-1]
    equal((sorted(last), last["pending"]), (["last_seq", "pending"], 0))


def upkeep(db):
    equal((db.cleanup(), db.compact(), db.compact("d")), (True, True, True))
    equal(db.commit()["ok"], True)
    equal(db.info("d")["name"], "d")
    document = db.get("b19")
    purged = db.purge([document])
    equal(purged["purged"], {"b19": [document.rev]})
    refused(http.ResourceNotFound, lambda: db._client["b19"])


class Person(mapping.Document):
    type = mapping.TextField(default="person")
    age = mapping.IntegerField()
    added = mapping.DateTimeField(default=datetime.now)
    by_age = mapping.ViewField("people", "function (doc) { if (doc.age) emit(doc.age, doc); }", language="javascript")


def mapped(db):
    """Documents as objects, and views that are kept as the program has them."""
    person = Person(id="ann", age=11)
    person.store(db)
    person.age += 1
    person.store(db)
    equal((Person.load(db, "ann").age, Person.load(db, "none")), (12, None))
    Person.by_age.sync(db)
    equal([found.age for found in Person.by_age(db)[10:]], [12])
    equal([found.age for found in Person.view(db, "people/by_age")], [12])
    extra = design.ViewDefinition("people", "count", "function (doc) { emit(null, 1); }", reduce_fun="_count")
    design.ViewDefinition.sync_many(db, [Person.by_age, extra])
    equal(sorted(extra.get_doc(db)["views"]), ["by_age", "count"])


main()

"""ibmcloudant: listings, views, `_find`, partitions and changes, with the client's pager and follower."""

import json
from threading import Thread

from common import equal, refused
from ibm_cloud_sdk_core import ApiException
from ibmcloudant import ChangesFollower, Pagination, PagerType
from ibmcloudant.cloudant_v1 import AllDocsQuery, IndexDefinition, IndexField, ViewQuery

COUNT = 25
DB = {"db": "queried"}
PARTITION = {"db": "parts", "partition_key": "p1"}
VIEW = {"ddoc": "by", "view": "n"}
MAP = "function (doc) { if (doc.n !== undefined) emit(doc.n, doc.n % 2); }"


def run(service):
    # A traced client is not of the class that pager and follower want.
    plain = service._client
    for name in ["queried", "parts"]:
        service.put_database(db=name, partitioned=name == "parts")
        prefix = ["d", "p1:"][name == "parts"]
        docs = [{"_id": f"{prefix}{n:02}", "n": n, "kind": ["even", "odd"][n % 2]} for n in range(COUNT)]
        service.post_bulk_docs(db=name, bulk_docs={"docs": docs})
        design = {"views": {"n": {"map": MAP, "reduce": "_sum"}}}
        service.put_design_document(db=name, ddoc="by", design_document=design)
    listings(service, plain)
    views(service, plain)
    selectors(service, plain)
    partitions(service, plain)
    changes(service, plain)


def streamed(answer):
    return json.loads(answer.get_result().content)


def paged(plain, kind, **options):
    """Number of rows that a pager finds in pages of seven."""
    pages = list(Pagination.new_pagination(plain, kind, limit=7, **options).pages())
    assert all(len(page) == 7 for page in pages[:-1]), [len(page) for page in pages]
    return sum(len(page) for page in pages)


def listings(service, plain):
    answer = service.post_all_docs(**DB, start_key="d03", end_key="d05", include_docs=True).get_result()
    equal([row["doc"]["n"] for row in answer["rows"]], [3, 4, 5])
    equal((answer["total_rows"], answer["offset"]), (COUNT + 1, 4))
    answer = streamed(service.post_all_docs_as_stream(**DB, keys=["d07", "none"]))
    equal([row.get("error") for row in answer["rows"]], [None, "not_found"])
    queries = [AllDocsQuery(limit=2, descending=True), AllDocsQuery(keys=["d01"])]
    for answer in [
        service.post_all_docs_queries(**DB, queries=queries).get_result(),
        streamed(service.post_all_docs_queries_as_stream(**DB, queries=queries)),
    ]:
        equal([[row["id"] for row in one["rows"]] for one in answer["results"]], [["d24", "d23"], ["d01"]])
    equal(paged(plain, PagerType.POST_ALL_DOCS, **DB), COUNT + 1)
    equal(paged(plain, PagerType.POST_DESIGN_DOCS, **DB), 1)


def views(service, plain):
    equal(service.post_view(**DB, **VIEW).get_result()["rows"], [{"key": None, "value": COUNT // 2}])
    rows = service.post_view(**DB, **VIEW, reduce=False, start_key=22, include_docs=True).get_result()["rows"]
    equal([row["doc"]["_id"] for row in rows], ["d22", "d23", "d24"])
    grouped = streamed(service.post_view_as_stream(**DB, **VIEW, group=True, limit=2, descending=True))
    equal(grouped["rows"], [{"key": 24, "value": 0}, {"key": 23, "value": 1}])
    queries = [ViewQuery(reduce=False, keys=[3, 1]), ViewQuery(reduce=True, end_key=3)]
    for answer in [
        service.post_view_queries(**DB, **VIEW, queries=queries).get_result(),
        streamed(service.post_view_queries_as_stream(**DB, **VIEW, queries=queries)),
    ]:
        equal([[row["key"] for row in one["rows"]] for one in answer["results"]], [[3, 1], [None]])
        equal(answer["results"][1]["rows"][0]["value"], 2)
    equal(paged(plain, PagerType.POST_VIEW, **DB, **VIEW, reduce=False), COUNT)
    missing = {**DB, "ddoc": "by", "view": "none"}
    refused(ApiException, lambda: service.post_view(**missing), status_code=404)


def selectors(service, plain):
    index = IndexDefinition(fields=[IndexField(n="asc")])
    made = service.post_index(**DB, index=index, ddoc="found", name="n", type="json").get_result()
    equal((made["result"], made["id"], made["name"]), ("created", "_design/found", "n"))
    listed = service.get_indexes_information(**DB).get_result()
    equal([(entry["name"], entry["type"]) for entry in listed["indexes"]], [("_all_docs", "special"), ("n", "json")])
    selector = {"n": {"$gt": 20}, "kind": "odd"}
    found = service.post_find(**DB, selector=selector, fields=["n"], sort=[{"n": "desc"}], execution_stats=True)
    equal(found.get_result()["docs"], [{"n": 23}, {"n": 21}])
    equal(found.get_result()["execution_stats"]["total_docs_examined"], 4)
    equal(len(streamed(service.post_find_as_stream(**DB, selector=selector, use_index=["found"]))["docs"]), 2)
    equal(service.post_explain(**DB, selector=selector).get_result()["index"]["ddoc"], "_design/found")
    equal(paged(plain, PagerType.POST_FIND, **DB, selector={"n": {"$gte": 0}}), COUNT)
    equal(service.delete_index(**DB, ddoc="found", type="json", index="n").get_result(), {"ok": True})
    equal(service.get_indexes_information(**DB).get_result()["total_rows"], 1)


def partitions(service, plain):
    of = PARTITION
    service.post_document(db="parts", document={"_id": "p2:0", "n": 100})
    info = service.get_partition_information(**of).get_result()
    equal((info["partition"], info["doc_count"], info["doc_del_count"]), ("p1", COUNT, 0))
    rows = service.post_partition_all_docs(**of, limit=2, descending=True).get_result()["rows"]
    equal([row["id"] for row in rows], ["p1:24", "p1:23"])
    equal(len(streamed(service.post_partition_all_docs_as_stream(**of))["rows"]), COUNT)
    equal(service.post_partition_view(**of, **VIEW).get_result()["rows"][0]["value"], COUNT // 2)
    rows = streamed(service.post_partition_view_as_stream(**of, **VIEW, reduce=False, start_key=23))["rows"]
    equal([row["key"] for row in rows], [23, 24])
    selector = {"n": {"$gte": 23}}
    found = service.post_partition_find(**of, selector=selector, fields=["n"]).get_result()
    equal(found["docs"], [{"n": 23}, {"n": 24}])
    equal(len(streamed(service.post_partition_find_as_stream(**of, selector=selector))["docs"]), 2)
    plan = service.post_partition_explain(**of, selector=selector).get_result()
    equal(plan["opts"]["partition"], "p1")
    equal(paged(plain, PagerType.POST_PARTITION_ALL_DOCS, **of), COUNT)
    equal(paged(plain, PagerType.POST_PARTITION_FIND, **of, selector={"n": {"$gte": 0}}), COUNT)
    equal(paged(plain, PagerType.POST_PARTITION_VIEW, **of, **VIEW, reduce=False), COUNT)


def changes(service, plain):
    # Besides the documents there is a design document, and one that went with its index.
    answer = service.post_changes(**DB, since="0", include_docs=True, limit=3).get_result()
    equal(([row["doc"]["n"] for row in answer["results"]], answer["pending"]), ([0, 1, 2], COUNT - 1))
    only = service.post_changes(**DB, filter="_doc_ids", doc_ids=["d04"]).get_result()["results"]
    equal([row["id"] for row in only], ["d04"])
    chosen = service.post_changes(**DB, filter="_selector", selector={"n": {"$lt": 2}}, fields=["n"]).get_result()
    equal([row["id"] for row in chosen["results"]], ["d00", "d01"])
    feed = service.post_changes_as_stream(**DB, feed="continuous", timeout=10).get_result()
    equal("last_seq" in json.loads(feed.content.strip().splitlines()[-1]), True)
    follower = ChangesFollower(plain, **DB, include_docs=True)
    ids = [change.id for change in follower.start_one_off()]
    equal((len(ids), len(set(ids))), (COUNT + 2, COUNT + 2))
    equal(follower.error_tolerance > 0, True)
    follow(service, plain)


def follow(service, plain):
    """A follower sees a document that comes while it waits, and is stopped."""
    endless = ChangesFollower(plain, **DB, since="0")
    for change in endless.start():
        if change.id == "late":
            break
        if change.id == "d24":
            service.put_document(**DB, doc_id="late", document={})
    # Stopping waits for the request under way, which a change ends.
    stopping = Thread(target=endless.stop)
    stopping.start()
    while stopping.is_alive():
        service.post_document(**DB, document={})
        stopping.join(timeout=0.1)

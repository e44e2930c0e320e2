"""Documents of `_replicator`, and what the scheduler says of them."""

import time

from common import NAME, ORIGIN, PASSWORD, equal
from ibmcloudant.cloudant_v1 import (
    ReplicationDatabase, ReplicationDatabaseAuth, ReplicationDatabaseAuthBasic, ReplicationDocument,
)


def end(name):
    basic = ReplicationDatabaseAuthBasic(username=NAME, password=PASSWORD)
    return ReplicationDatabase(url=f"{ORIGIN}/{name}", auth=ReplicationDatabaseAuth(basic=basic))


def wait_for(what, look):
    deadline = time.monotonic() + 60
    while not (found := look()):
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
    return found


def run(service):
    service.put_database(db="from")
    service.post_document(db="from", document={"_id": "one"})
    once = ReplicationDocument(source=end("from"), target=end("into"), create_target=True)
    made = service.put_replication_document(doc_id="once", replication_document=once)
    equal(made.get_status_code(), 201)
    get = lambda: service.get_replication_document(doc_id="once").get_result()
    wait_for("the end", lambda: get().get("_replication_state") == "completed")
    equal(service.get_document(db="into", doc_id="one").get_result()["_id"], "one")
    equal(service.head_replication_document(doc_id="once").get_status_code(), 200)
    equal(service.get_scheduler_document(doc_id="once").get_result()["state"], "completed")
    equal(service.head_scheduler_document(doc_id="once").get_status_code(), 200)

    live = ReplicationDocument(source=end("from"), target=end("live"), create_target=True, continuous=True)
    made = service.post_replicator(replication_document=live).get_result()
    running = lambda: service.get_scheduler_docs(states=["running"]).get_result()["docs"]
    [listed] = wait_for("a running job", running)
    equal(listed["doc_id"], made["id"])
    [job] = service.get_scheduler_jobs(limit=10).get_result()["jobs"]
    equal((job["id"], job["doc_id"]), (listed["id"], made["id"]))
    equal(service.get_scheduler_job(job_id=job["id"]).get_result()["source"], f"{ORIGIN}/from/")
    equal(service.head_scheduler_job(job_id=job["id"]).get_status_code(), 200)
    document = service.get_replication_document(doc_id=made["id"]).get_result()
    service.delete_replication_document(doc_id=made["id"], rev=document["_rev"])
    wait_for("no job", lambda: not service.get_scheduler_jobs().get_result()["jobs"])
    for name in ["from", "into", "live"]:
        service.delete_database(db=name)

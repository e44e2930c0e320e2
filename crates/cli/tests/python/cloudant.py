"""ibmcloudant: every method that asks a server, against Varve.

Methods of Cloudant's own service, and those whose part of CouchDB is not in Varve, are called as well: each must be
refused, so the lists below shrink when such a part is added.
"""

from common import NAME, ORIGIN, PASSWORD, Traced, account, equal, refused
from ibm_cloud_sdk_core import ApiException
from ibm_cloud_sdk_core.authenticators import BasicAuthenticator
from ibmcloudant import CloudantV1, CouchDbSessionAuthenticator
import cloudant_documents
import cloudant_queries
import cloudant_replication

# They set up the client and send nothing.
OFFLINE = [
    "configure_service", "disable_retries", "enable_retries", "encode_path_vars", "get_authenticator",
    "get_http_client", "new_instance", "prepare_request", "send", "set_default_headers",
    "set_disable_ssl_verification", "set_http_client", "set_http_config", "set_service_url",
]

# Paths below /_api, which CouchDB does not have either.
OF_THE_SERVICE = {
    "get_activity_tracker_events": {},
    "get_capacity_databases_information": {},
    "get_capacity_throughput_information": {},
    "get_cors_information": {},
    "get_current_databases_information": {},
    "get_current_throughput_information": {},
    "post_activity_tracker_events": {"types": ["management"]},
    "post_api_keys": {},
    "put_capacity_throughput_configuration": {"blocks": 1},
    "put_cloudant_security_configuration": {"db": "any", "cloudant": {}},
    "put_cors_configuration": {"origins": ["https://example.com"]},
}

_INDEX = {"db": "searched", "ddoc": "d", "index": "i"}
_IN_PARTITION = {**_INDEX, "partition_key": "p", "query": "a:b"}
SEARCH = {
    "get_search_disk_size": _INDEX,
    "get_search_info": _INDEX,
    "post_partition_search": _IN_PARTITION,
    "post_partition_search_as_stream": _IN_PARTITION,
    "post_search": {**_INDEX, "query": "a:b"},
    "post_search_analyze": {"analyzer": "english", "text": "running"},
    "post_search_as_stream": {**_INDEX, "query": "a:b"},
}


def service_with(authenticator, called):
    service = CloudantV1(authenticator=authenticator)
    service.set_service_url(ORIGIN)
    return Traced(service, called)


def server(service):
    welcome = service.get_server_information().get_result()
    equal(welcome["couchdb"], "Welcome")
    assert "partitioned" in welcome["features"] and welcome["vendor"]["name"]
    equal(service.get_up_information().get_result()["status"], "ok")
    equal(service.head_up_information().get_status_code(), 200)
    equal(service.get_session_information().get_result()["userCtx"], {"name": NAME, "roles": ["_admin"]})
    members = service.get_membership_information().get_result()
    equal(members["all_nodes"], members["cluster_nodes"])
    equal(len(members["all_nodes"]), 1)
    uuids = service.get_uuids(count=7).get_result()["uuids"]
    equal((len(set(uuids)), {len(uuid) for uuid in uuids}), (7, {32}))
    equal(service.get_active_tasks().get_result(), [])


def databases(service):
    equal(service.put_database(db="first").get_result(), {"ok": True})
    failure = refused(ApiException, lambda: service.put_database(db="first"), status_code=412)
    assert failure.message.startswith("file_exists"), failure.message
    equal(service.put_database(db="second", partitioned=True, q=2).get_status_code(), 201)
    names = service.get_all_dbs(start_key='"first"', end_key='"second"').get_result()
    equal(names, ["first", "second"])
    equal(service.get_all_dbs(descending=True, limit=1, skip=2).get_result(), ["_users"])
    equal(service.head_database(db="first").get_status_code(), 200)
    refused(ApiException, lambda: service.head_database(db="none"), status_code=404)
    info = service.get_database_information(db="second").get_result()
    equal((info["db_name"], info["doc_count"], info["props"]), ("second", 0, {"partitioned": True}))
    infos = service.post_dbs_info(keys=["first", "none"]).get_result()
    equal([entry.get("error", entry.get("info", {}).get("db_name")) for entry in infos], ["first", "not_found"])
    updates = service.get_db_updates(feed="normal", since="0").get_result()
    equal({(row["db_name"], row["type"]) for row in updates["results"]} >= {("first", "created")}, True)
    latest = service.get_db_updates(feed="normal", descending=True, limit=1).get_result()["results"]
    equal([row["db_name"] for row in latest], [updates["results"][-1]["db_name"]])

    rights = {"admins": {"names": ["ann"], "roles": ["boss"]}, "members": {"names": ["bob"], "roles": []}}
    equal(service.put_security(db="first", **rights).get_result(), {"ok": True})
    equal(service.get_security(db="first").get_result(), rights)
    shards = service.get_shards_information(db="first").get_result()["shards"]
    equal([len(nodes) for nodes in shards.values()], [1])
    shard = service.get_document_shards_info(db="first", doc_id="any").get_result()
    equal([shard["range"]], list(shards))
    for name in ["first", "second"]:
        equal(service.delete_database(db=name).get_result(), {"ok": True})
    refused(ApiException, lambda: service.delete_database(db="first"), status_code=404)


def refusals(service):
    for parts, expected in [(OF_THE_SERVICE, (404, 405)), (SEARCH, (503,))]:
        for name, arguments in parts.items():
            failure = refused(ApiException, lambda: getattr(service, name)(**arguments))
            assert failure.status_code in expected, f"{name}: {failure}"


def main():
    called = set()
    by_password = service_with(BasicAuthenticator(NAME, PASSWORD), called)
    by_cookie = service_with(CouchDbSessionAuthenticator(NAME, PASSWORD), called)
    # Bodies of requests are sent in gzip unless this is set.
    by_password.set_enable_gzip_compression(False)
    equal(by_cookie.get_enable_gzip_compression(), True)
    server(by_cookie)
    databases(by_password)
    for service in [by_password, by_cookie]:
        service.put_database(db="documents")
        cloudant_documents.run(service)
        service.delete_database(db="documents")
    cloudant_queries.run(by_cookie)
    cloudant_replication.run(by_password)
    by_password.put_database(db="searched", partitioned=True)
    refusals(by_password)
    account(CloudantV1, called, OFFLINE)


main()

// Every method of kivik that asks a server, against Varve.
package main

import (
	"context"
	"net/http"
	"os"

	kivik "github.com/go-kivik/kivik/v4"
	_ "github.com/go-kivik/kivik/v4/couchdb"
)

var ctx = context.Background()

// refused checks that a call failed with this status.
func refused(err error, status int) {
	if err == nil {
		fail("was not refused with %d", status)
	}
	equal(kivik.HTTPStatus(err), status)
}

func main() {
	client := must(kivik.New("couch", os.Getenv("SERVER")))
	server(client)
	databases(client)
	settings(client)
	ok(client.CreateDB(ctx, "db"))
	db := client.DB("db")
	documents(db)
	attachments(db)
	queries(db)
	feeds(client, db)
	upkeep(client, db)
	replications(client)
	ok(on(client, "Close").Close())
	account[kivik.Client]()
	account[kivik.DB]()
	// Methods for range over functions, which needs a later Go than Debian's.
	account[kivik.ResultSet]("Iterator", "NextIterator")
	account[kivik.Changes]("Iterator")
	account[kivik.DBUpdates]("Iterator")
	account[kivik.Document]()
	account[kivik.Replication]()
}

func server(client *kivik.Client) {
	equal(on(client, "Driver").Driver(), "couch")
	equal(on(client, "DSN").DSN(), os.Getenv("SERVER"))
	equal(must(on(client, "Ping").Ping(ctx)), true)
	version := must(on(client, "Version").Version(ctx))
	equal(version.Version[:2], "3.")
	equal(version.Vendor, "Varve")
	session := must(on(client, "Session").Session(ctx))
	equal(session.Name, "admin")
	equal(session.Roles, []string{"_admin"})
	members := must(on(client, "Membership").Membership(ctx))
	equal(len(members.AllNodes), 1)
	equal(members.AllNodes, members.ClusterNodes)
	state := must(on(client, "ClusterStatus").ClusterStatus(ctx))
	equal(state, "single_node_enabled")
	// A node alone has nothing to join.
	setup := map[string]any{"action": "add_node", "host": "other", "username": "a", "password": "b"}
	refused(on(client, "ClusterSetup").ClusterSetup(ctx, setup), http.StatusBadRequest)
}

func databases(client *kivik.Client) {
	ok(on(client, "CreateDB").CreateDB(ctx, "first"))
	refused(client.CreateDB(ctx, "first"), http.StatusPreconditionFailed)
	ok(client.CreateDB(ctx, "second", kivik.Param("partitioned", true)))
	equal(must(on(client, "AllDBs").AllDBs(ctx, kivik.Param("startkey", `"a"`))), []string{"first", "second"})
	equal(must(on(client, "DBExists").DBExists(ctx, "first")), true)
	equal(must(client.DBExists(ctx, "none")), false)
	all := must(on(client, "AllDBsStats").AllDBsStats(ctx))
	equal(len(all), 4)
	some := must(on(client, "DBsStats").DBsStats(ctx, []string{"second", "none"}))
	equal(some[0].Name, "second")
	equal(some[1], (*kivik.DBStats)(nil))
	parts := on(client, "DB").DB("second")
	for _, id := range []string{"p:1", "p:2", "q:1"} {
		must(parts.Put(ctx, id, map[string]any{"n": 1}))
	}
	partition := must(on(parts, "PartitionStats").PartitionStats(ctx, "p"))
	equal(partition.Partition, "p")
	equal(partition.DocCount, int64(2))
	for _, name := range []string{"first", "second"} {
		ok(on(client, "DestroyDB").DestroyDB(ctx, name))
	}
	refused(client.DestroyDB(ctx, "first"), http.StatusNotFound)
}

func settings(client *kivik.Client) {
	const node = "_local"
	old := must(on(client, "SetConfigValue").SetConfigValue(ctx, node, "couchdb", "max_document_size", "1000000"))
	equal(must(on(client, "ConfigValue").ConfigValue(ctx, node, "couchdb", "max_document_size")), "1000000")
	section := must(on(client, "ConfigSection").ConfigSection(ctx, node, "couchdb"))
	equal(section["max_document_size"], "1000000")
	all := must(on(client, "Config").Config(ctx, node))
	equal(all["couchdb"]["max_document_size"], "1000000")
	gone := must(on(client, "DeleteConfigKey").DeleteConfigKey(ctx, node, "couchdb", "max_document_size"))
	equal(gone, "1000000")
	equal(old, "")
}

func upkeep(client *kivik.Client, db *kivik.DB) {
	ok(on(db, "Flush").Flush(ctx))
	ok(on(db, "Compact").Compact(ctx))
	ok(on(db, "CompactView").CompactView(ctx, "by"))
	ok(on(db, "ViewCleanup").ViewCleanup(ctx))
	rights := &kivik.Security{Members: kivik.Members{Names: []string{"ann"}, Roles: []string{"reader"}}}
	ok(on(db, "SetSecurity").SetSecurity(ctx, rights))
	equal(must(on(db, "Security").Security(ctx)).Members, rights.Members)
	stats := must(on(db, "Stats").Stats(ctx))
	equal(stats.Name, "db")
	equal(stats.DocCount > 20 && stats.DiskSize > 0 && stats.ActiveSize > 0, true)
	rev := must(db.Put(ctx, "purged", map[string]any{}))
	purged := must(on(db, "Purge").Purge(ctx, map[string][]string{"purged": {rev}}))
	equal(purged.Purged, map[string][]string{"purged": {rev}})
	equal(on(db, "Client").Client() == client, true)
	equal(on(db, "Name").Name(), "db")
	ok(on(db, "Err").Err())
	ok(on(db, "Close").Close())
}

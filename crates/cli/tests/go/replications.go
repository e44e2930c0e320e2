package main

import (
	"strings"
	"time"

	kivik "github.com/go-kivik/kivik/v4"
)

// replications copies a database once, and another one until its replication is deleted.
func replications(client *kivik.Client) {
	at := func(name string) string { return strings.TrimSuffix(client.DSN(), "/") + "/" + name }
	ok(client.CreateDB(ctx, "from"))
	must(client.DB("from").Put(ctx, "one", map[string]any{}))
	created := kivik.Param("create_target", true)
	once := must(on(client, "Replicate").Replicate(ctx, at("into"), at("from"), created))
	await("the end of a replication", func() bool {
		ok(on(once, "Update").Update(ctx))
		return !on(once, "IsActive").IsActive()
	})
	ok(on(once, "Err").Err())
	equal(on(once, "State").State(), kivik.ReplicationComplete)
	equal(on(once, "DocsRead").DocsRead(), int64(1))
	equal(on(once, "DocsWritten").DocsWritten(), int64(1))
	equal(on(once, "DocWriteFailures").DocWriteFailures(), int64(0))
	// The client takes it from the documents of older servers alone.
	equal(on(once, "Progress").Progress(), 0.0)
	equal(on(once, "StartTime").StartTime().After(on(once, "EndTime").EndTime()), false)

	live := must(client.Replicate(ctx, at("live"), at("from"), created, kivik.Param("continuous", true)))
	await("a running replication", func() bool {
		ok(live.Update(ctx))
		return live.State() == kivik.ReplicationState("running")
	})
	known := must(on(client, "GetReplications").GetReplications(ctx))
	equal(len(known), 2)
	for _, one := range known {
		equal(len(on(one, "ReplicationID").ReplicationID()) >= 32, true)
	}
	ok(on(live, "Delete").Delete(ctx))
	await("one replication", func() bool { return len(must(client.GetReplications(ctx))) == 1 })
	for _, name := range []string{"from", "into", "live"} {
		ok(client.DestroyDB(ctx, name))
	}
}

func await(what string, isSo func() bool) {
	for tries := 0; !isSo(); tries++ {
		if tries > 1200 {
			fail("waited in vain for %s", what)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

package main

import (
	"context"
	"time"

	kivik "github.com/go-kivik/kivik/v4"
)

const byNumber = "function (doc) { if (doc.n !== undefined) emit(doc.n, doc.n % 2); }"

func queries(db *kivik.DB) {
	must(db.Put(ctx, "_design/by", object{
		"views":   object{"n": object{"map": byNumber, "reduce": "_sum"}},
		"updates": object{"add": "function (doc, req) { doc.n += 1; return [doc, {json: {rev: doc._rev}}]; }"},
	}))
	rows := on(db, "AllDocs").AllDocs(ctx, kivik.IncludeDocs(), kivik.Param("startkey", "bs"), kivik.Param("limit", 1))
	equal(on(rows, "Next").Next(), true)
	var found object
	ok(on(rows, "ScanDoc").ScanDoc(&found))
	equal(found["n"], 18.0)
	equal(rows.Next(), false)
	total := must(on(rows, "Metadata").Metadata())
	equal(total.TotalRows > 20 && total.Offset > 0, true)
	equal(idsOf(on(db, "DesignDocs").DesignDocs(ctx)), []string{"_design/by"})

	rows = on(db, "Query").Query(ctx, "by", "n", kivik.Params(object{"reduce": false, "start_key": 17}))
	ids, sum := []string{}, 0
	for rows.Next() {
		var key, value int
		ok(on(rows, "ScanKey").ScanKey(&key))
		ok(on(rows, "ScanValue").ScanValue(&value))
		ids, sum = append(ids, must(on(rows, "Key").Key())), sum+value
	}
	equal(ids, []string{"17", "18", "19", "99"})
	equal(sum, 3)
	several := []object{{"reduce": true}, {"reduce": false, "keys": []int{3, 1}}}
	rows = db.Query(ctx, "by", "n", kivik.Param("queries", several))
	counts := []int{}
	for on(rows, "NextResultSet").NextResultSet() {
		count := 0
		for rows.Next() {
			count++
		}
		counts = append(counts, count)
	}
	ok(rows.Err())
	// The client ends with a set without rows.
	equal(counts[:2], []int{1, 3})
	ok(on(rows, "Close").Close())
	// The revision is what the function says: that which it was given.
	rev := must(on(db, "Update").Update(ctx, "by", "add", "bb", nil))
	equal(rev[:2], "1-")
	equal(must(db.GetRev(ctx, "bb"))[:2], "2-")

	ok(on(db, "CreateIndex").CreateIndex(ctx, "found", "n", object{"fields": []string{"n"}}))
	indexes := must(on(db, "GetIndexes").GetIndexes(ctx))
	equal(len(indexes), 2)
	equal(indexes[1].DesignDoc, "_design/found")
	query := object{"selector": object{"n": object{"$gte": 18}}, "sort": []string{"n"}, "fields": []string{"n"}}
	numbers := []float64{}
	rows = on(db, "Find").Find(ctx, query)
	for rows.Next() {
		ok(rows.ScanDoc(&found))
		numbers = append(numbers, found["n"].(float64))
	}
	ok(rows.Err())
	equal(numbers, []float64{18, 19, 99})
	equal(must(on(db, "Explain").Explain(ctx, query)).Index["name"], "n")
	ok(on(db, "DeleteIndex").DeleteIndex(ctx, "found", "n"))
	equal(len(must(db.GetIndexes(ctx))), 1)
	// Attachments of rows come with documents that are asked for in parts.
	rows = db.AllDocs(ctx, kivik.IncludeDocs(), kivik.Param("attachments", true), kivik.Param("key", "holder"))
	equal(rows.Next(), true)
	_, err := on(rows, "Attachments").Attachments()
	equal(err != nil, true)
	ok(rows.Close())
}

func feeds(client *kivik.Client, db *kivik.DB) {
	changes := on(db, "Changes").Changes(ctx, kivik.IncludeDocs(), kivik.Param("limit", 3))
	count := 0
	for on(changes, "Next").Next() {
		var found object
		ok(on(changes, "ScanDoc").ScanDoc(&found))
		equal(found["_id"], on(changes, "ID").ID())
		equal(len(on(changes, "Changes").Changes()), 1)
		equal(on(changes, "Deleted").Deleted(), found["_deleted"] == true)
		equal(on(changes, "Seq").Seq() != "", true)
		count++
	}
	ok(on(changes, "Err").Err())
	equal(count, 3)
	end := must(on(changes, "Metadata").Metadata())
	equal(end.LastSeq != "" && end.Pending > 10, true)
	on(changes, "ETag").ETag()
	ok(on(changes, "Close").Close())

	// A feed that stays open sees a document that comes later.
	waiting, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	feed := db.Changes(waiting, kivik.Param("feed", "continuous"), kivik.Param("since", "now"))
	go func() { must(db.Put(ctx, "late", object{})) }()
	equal(feed.Next(), true)
	equal(feed.ID(), "late")
	ok(feed.Close())

	updates := on(client, "DBUpdates").DBUpdates(ctx, kivik.Param("feed", "normal"), kivik.Param("since", "0"))
	kinds := map[string]bool{}
	for on(updates, "Next").Next() {
		equal(on(updates, "Seq").Seq() != "", true)
		kinds[on(updates, "DBName").DBName()+" "+on(updates, "Type").Type()] = true
	}
	ok(on(updates, "Err").Err())
	equal(kinds["db created"] || kinds["db updated"], true)
	must(on(updates, "LastSeq").LastSeq())
	ok(on(updates, "Close").Close())
}

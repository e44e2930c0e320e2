package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"sort"
	"strings"

	kivik "github.com/go-kivik/kivik/v4"
)

type object = map[string]any

func documents(db *kivik.DB) {
	id, rev, err := on(db, "CreateDoc").CreateDoc(ctx, object{"n": 1})
	ok(err)
	equal(len(id), 32)
	equal(rev[:2], "1-")
	first := must(on(db, "Put").Put(ctx, "a/b ü", object{"n": 1}))
	_, err = db.Put(ctx, "a/b ü", object{"n": 1})
	refused(err, http.StatusConflict)
	second := must(db.Put(ctx, "a/b ü", object{"n": 2, "_rev": first}))
	document := on(db, "Get").Get(ctx, "a/b ü", kivik.Param("revs_info", true))
	var found object
	ok(on(document, "ScanDoc").ScanDoc(&found))
	equal(found["n"], 2.0)
	equal(len(found["_revs_info"].([]any)), 2)
	equal(must(on(document, "Rev").Rev()), second)
	ok(on(document, "Err").Err())
	ok(on(document, "Close").Close())
	equal(must(on(db, "GetRev").GetRev(ctx, "a/b ü")), second)
	refused(db.Get(ctx, "none").Err(), http.StatusNotFound)
	copied := must(on(db, "Copy").Copy(ctx, "copy", "a/b ü"))
	equal(copied[:2], "1-")
	must(on(db, "Delete").Delete(ctx, "copy", copied))
	refused(db.Get(ctx, "copy").Err(), http.StatusNotFound)

	var docs []any
	for n := 0; n < 20; n++ {
		docs = append(docs, object{"_id": "b" + string(rune('a'+n)), "n": n})
	}
	docs = append(docs, object{"_id": "a/b ü"})
	results := must(on(db, "BulkDocs").BulkDocs(ctx, docs))
	equal(len(results), 21)
	equal(results[0].Error, nil)
	refused(results[20].Error, http.StatusConflict)
	wanted := []kivik.BulkGetReference{{ID: "ba"}, {ID: "none"}}
	got := on(db, "BulkGet").BulkGet(ctx, wanted)
	equal(got.Next(), true)
	ok(got.ScanDoc(&found))
	equal(found["_id"], "ba")
	equal(got.Next(), true)
	equal(got.ScanDoc(&found).Error(), "not_found: missing")
	ok(got.Close())

	branch := object{"_id": "ba", "_rev": "1-x", "n": 99}
	must(db.BulkDocs(ctx, []any{branch}, kivik.Param("new_edits", false)))
	leaves := on(db, "OpenRevs").OpenRevs(ctx, "ba", []string{results[0].Rev, "1-x"})
	var numbers []float64
	for leaves.Next() {
		ok(leaves.ScanDoc(&found))
		numbers = append(numbers, found["n"].(float64))
		must(on(leaves, "Rev").Rev())
	}
	ok(leaves.Err())
	sort.Float64s(numbers)
	equal(numbers, []float64{0, 99})
	missing := on(db, "RevsDiff").RevsDiff(ctx, map[string][]string{"ba": {"1-x", "3-z"}})
	equal(missing.Next(), true)
	equal(must(missing.ID()), "ba")
	var diff struct {
		Missing []string `json:"missing"`
	}
	ok(missing.ScanValue(&diff))
	equal(diff.Missing, []string{"3-z"})
	ok(missing.Close())
	must(db.Put(ctx, "_local/mark", object{"seq": 4}))
	equal(idsOf(on(db, "LocalDocs").LocalDocs(ctx)), []string{"_local/mark"})
}

// Ids of all rows, which ends the rows.
func idsOf(rows *kivik.ResultSet) []string {
	ids := []string{}
	for on(rows, "Next").Next() {
		ids = append(ids, must(on(rows, "ID").ID()))
	}
	ok(on(rows, "Err").Err())
	return ids
}

func file(name, content string) *kivik.Attachment {
	body := io.NopCloser(strings.NewReader(content))
	return &kivik.Attachment{Filename: name, ContentType: "text/plain", Content: body}
}

// The bytes of a part, which come as they are stored.
func decoded(part *kivik.Attachment) []byte {
	if part.ContentEncoding != "gzip" {
		return must(io.ReadAll(part.Content))
	}
	return must(io.ReadAll(must(gzip.NewReader(part.Content))))
}

func attachments(db *kivik.DB) {
	rev := must(on(db, "PutAttachment").PutAttachment(ctx, "holder", file("dir/a.txt", "plain")))
	rev = must(db.PutAttachment(ctx, "holder", file("b.txt", "more"), kivik.Rev(rev)))
	got := must(on(db, "GetAttachment").GetAttachment(ctx, "holder", "dir/a.txt"))
	equal(string(must(io.ReadAll(got.Content))), "plain")
	meta := must(on(db, "GetAttachmentMeta").GetAttachmentMeta(ctx, "holder", "b.txt"))
	equal(meta.ContentType, "text/plain")
	equal(meta.Size, int64(4))
	// In parts: the client says that it takes multipart/related.
	document := db.Get(ctx, "holder", kivik.Param("attachments", true))
	files := must(on(document, "Attachments").Attachments())
	contents := map[string]string{}
	for {
		next, err := files.Next()
		if err == io.EOF {
			break
		}
		ok(err)
		contents[next.Filename] = string(decoded(next))
	}
	equal(contents, map[string]string{"dir/a.txt": "plain", "b.txt": "more"})
	ok(document.Close())
	rev = must(on(db, "DeleteAttachment").DeleteAttachment(ctx, "holder", rev, "b.txt"))
	_, err := db.DeleteAttachment(ctx, "holder", rev, "b.txt")
	refused(err, http.StatusNotFound)
	_, err = db.GetAttachment(ctx, "holder", "b.txt")
	refused(err, http.StatusNotFound)
	// Several at once, which the client sends as multipart/related.
	both := &kivik.Attachments{"x": file("x", strings.Repeat("long ", 40000)), "y": file("y", "short")}
	must(db.Put(ctx, "several", object{"_attachments": both}))
	long := must(db.GetAttachment(ctx, "several", "x"))
	equal(bytes.Equal(must(io.ReadAll(long.Content)), []byte(strings.Repeat("long ", 40000))), true)
}

package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"
)

// called has the names of the methods that were called, by the name of their type.
var called = map[string]map[string]bool{}

// on notes that a method of a client is called, and passes the client on: on(db, "Get").Get(…). A name that does not
// belong to the type ends the driver.
func on[T any](client T, method string) T {
	kind := reflect.TypeOf(client)
	if _, known := kind.MethodByName(method); !known {
		fail("%v has no method %s", kind, method)
	}
	if called[kind.String()] == nil {
		called[kind.String()] = map[string]bool{}
	}
	called[kind.String()][method] = true
	return client
}

// account fails for a method that was neither called nor is in notCalled, or is in both.
func account[T any](notCalled ...string) {
	kind := reflect.TypeOf((*T)(nil))
	explained := map[string]bool{}
	for _, name := range notCalled {
		if called[kind.String()][name] {
			fail("%v.%s is explained as not called, but called", kind, name)
		}
		explained[name] = true
	}
	var forgotten []string
	for i := 0; i < kind.NumMethod(); i++ {
		name := kind.Method(i).Name
		if !called[kind.String()][name] && !explained[name] {
			forgotten = append(forgotten, name)
		}
	}
	if len(forgotten) > 0 {
		sort.Strings(forgotten)
		fail("%v: neither called nor explained: %s", kind, strings.Join(forgotten, " "))
	}
}

func fail(format string, arguments ...any) {
	panic(fmt.Sprintf(format, arguments...))
}

func equal(found, expected any) {
	if !reflect.DeepEqual(found, expected) {
		fail("%#v is not %#v", found, expected)
	}
}

// ok ends the driver for an error.
func ok(err error) {
	if err != nil {
		fail("%v", err)
	}
}

// must gives the result of a call, which ends the driver if it failed.
func must[T any](result T, err error) T {
	ok(err)
	return result
}

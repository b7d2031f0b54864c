package main

import (
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rogpeppe/go-internal/testscript"
)

// scriptRaw publishes what `ctxledger publish` would refuse.
func scriptRaw(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: raw SUBJECT FILE")
	}
	nc, err := nats.Connect(ts.Getenv("NATS"))
	ts.Check(err)
	defer nc.Close()
	_, err = nc.Request(args[0], []byte(ts.ReadFile(args[1])), 5*time.Second)
	ts.Check(err)
}

package producer_test

import (
	"context"
	"log"

	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/outbox"
)

// A client that loses no sealed turn: the server may be unavailable from the start, and the
// process may be killed.
func ExampleConnect_outbox() {
	box, err := outbox.Open("/var/lib/agent/outbox", outbox.DefaultOptions())
	if err != nil {
		log.Fatal(err)
	}
	defer box.Close()
	nc, err := nats.Connect(nats.DefaultURL, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	config := producer.DefaultConfig(nc)
	config.Outbox = box
	client, err := producer.Connect(context.Background(), config)
	if err != nil {
		log.Fatal(err)
	}
	run, err := client.Open(context.Background(), producer.Run{Session: "s_42"})
	if err != nil {
		log.Fatal(err)
	}
	receipt, err := run.Turn("turn_7", producer.Model{Name: "gpt-4o"}).Seal(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("turn_7 is in the %s", receipt.Stored)
}

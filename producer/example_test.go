package producer_test

import (
	"context"
	"log"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// A turn of one model call, from a connection to the seal. The example needs a server with
// the ledger's stream.
func Example() {
	nc, err := nats.Connect(nats.DefaultURL, nats.MaxReconnects(-1))
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	if err := recordTurn(context.Background(), nc); err != nil {
		log.Fatal(err)
	}
}

func recordTurn(ctx context.Context, nc *nats.Conn) error {
	client, err := producer.Connect(ctx, producer.DefaultConfig(nc))
	if err != nil {
		return err
	}
	run, err := client.Open(ctx, producer.Run{Session: "s_42", Agent: "coder"})
	if err != nil {
		return err
	}
	turn := run.Turn("turn_7", producer.Model{Name: "gpt-5", Window: window.Budget{MaxTokens: 24_000, ReservedOutput: 2_000}})
	item, err := turn.Add(ctx, producer.Content{ID: "m1", Layer: "user", Role: "user", Kind: window.KindMessage, Text: "hi"})
	if err != nil {
		return err
	}
	call := turn.Call("call_1")
	plan, err := call.Fit(ctx, []window.Item{item}, window.DefaultPolicy(), nil) // surface, selection, pressure, budget
	if err != nil {
		return err
	}
	asm, err := call.Assemble(ctx, plan) // ordered blocks for the model
	if err != nil {
		return err
	}
	if err := call.Inject(ctx, asm, schema.InjectMessageHistory); err != nil { // became visible
		return err
	}
	_, err = turn.Seal(ctx) // returns when the stream has stored the turn
	return err
}

func TestDefaultConfigNeedsAConnection(t *testing.T) {
	t.Parallel()
	if err := producer.DefaultConfig(nil).Validate(); err == nil {
		t.Error("no connection, and no error")
	}
}

package capture_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/ctxledger/ctxledger/producer/capture"
	"github.com/ctxledger/ctxledger/producer/producertest"
)

// A program that uses a provider's SDK gives it an HTTP client with this transport.
func ExampleTransport() {
	recorder, err := capture.Open(context.Background(), capture.Config{
		Transport: new(producertest.Recorder), // programs use publish.NewWith or publish.NewOutboxTransport
		Instance:  "example",
	})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: &capture.Transport{Recorder: recorder}}
	_ = client // anthropic.NewClient(option.WithHTTPClient(client))

	if err := recorder.Close(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(recorder.Counts().Exchanges, "exchanges")
	// Output: 0 exchanges
}

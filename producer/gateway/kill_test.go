package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/schema"
)

// posted is what one client was told: the positions of its stored events.
type posted struct {
	places  map[string][]Verdict // by the event's id
	answers map[int]int          // number of answers, by status; 0 for none
}

// postUntilStored posts batches until each event was answered as stored. It stops waiting for
// some answers, as a client that was killed, and posts each batch again and again with the same
// bytes.
func postUntilStored(ctx context.Context, address, session string, batches int, seed uint64) (p posted, err error) {
	random := rand.New(rand.NewPCG(seed, 28))
	p = posted{make(map[string][]Verdict), make(map[int]int)}
	for n := range batches {
		var events [][]byte
		for i := range 1 + random.IntN(60) {
			id := fmt.Sprintf("%s-%d-%d", session, n, i)
			e, err := schema.NewEvent(&schema.ItemRemoved{ItemID: "item-" + id}, id, "urn:test", time.Unix(1, 0), schema.Correlation{SessionID: session})
			if err != nil {
				return p, err
			}
			text, err := e.MarshalJSON()
			if err != nil {
				return p, err
			}
			events = append(events, text)
		}
		body := append(append([]byte("["), bytes.Join(events, []byte(","))...), ']')
		for stored := false; !stored; {
			if ctx.Err() != nil {
				return p, fmt.Errorf("batch %d is not stored: %v", n, p.answers)
			}
			patience := time.Minute
			if random.IntN(4) == 0 {
				patience = time.Duration(random.IntN(3000)) * time.Microsecond
			}
			status, a := postOnce(ctx, patience, address+Path, body)
			p.answers[status]++
			for _, v := range a.Events {
				if v.Outcome == Stored {
					p.places[v.ID] = append(p.places[v.ID], v)
				}
			}
			stored = status == http.StatusOK && random.IntN(8) > 0 // sometimes once more
			if status != http.StatusOK {
				time.Sleep(time.Millisecond)
			}
		}
	}
	return p, nil
}

func postOnce(ctx context.Context, patience time.Duration, address string, body []byte) (status int, a Answer) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, a
	}
	request.Header.Set("Content-Type", batchType)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, a
	}
	defer response.Body.Close()
	if json.NewDecoder(response.Body).Decode(&a) != nil {
		return 0, Answer{}
	}
	return response.StatusCode, a
}

// TestKilled kills the gateway and NATS at random moments while clients post, give up and post
// again. Each event that was answered as stored is at the position that was said, and its
// messages all have one digest, so that the ledger counts it once.
func TestKilled(t *testing.T) {
	t.Parallel()
	server := bustest.StartNATS(t)
	bus := &bustest.Bus{}
	bus.Dial(t, server.Address)
	bus.CreateStream(t, jetstream.StreamConfig{Name: "CTX", Subjects: []string{schema.AllSubjects}, AllowAtomicPublish: true, Duplicates: 2 * time.Minute})
	gate := bustest.StartHTTP(t, server.Address)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const clients = 4
	told, errs := make([]posted, clients), make([]error, clients)
	var posting sync.WaitGroup
	for i := range clients {
		posting.Go(func() {
			told[i], errs[i] = postUntilStored(ctx, gate.Address, fmt.Sprint("session-", i), 40, uint64(i))
		})
	}
	ended := make(chan struct{})
	go func() { posting.Wait(); close(ended) }()
	kills := 0
	for random := rand.New(rand.NewPCG(28, 28)); kills < 12; kills++ {
		select {
		case <-ended:
		case <-time.After(time.Duration(random.IntN(100)) * time.Millisecond):
			[]*bustest.Victim{server, gate}[random.IntN(2)].Restart(t)
			continue
		}
		break
	}
	<-ended
	if kills < 4 {
		t.Errorf("the clients had finished after %d kills", kills)
	}
	var list []*schema.Event
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if stream, err := bus.JS.Stream(ctx, "CTX"); err == nil && stream.CachedInfo().State.Msgs > 0 {
			list = bus.Events(t)
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Fatal("the stream did not come back")
		}
	}
	digests := make(map[string]any)
	for _, e := range list {
		if before, ok := digests[e.ID]; ok && before != e.Digest() {
			t.Errorf("the event %s has two digests", e.ID)
		}
		digests[e.ID] = e.Digest()
	}
	events := 0
	for i, p := range told {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		events += len(p.places)
		for id, places := range p.places {
			for _, v := range places {
				if v.Sequence == 0 || v.Sequence > uint64(len(list)) || list[v.Sequence-1].ID != id {
					t.Fatalf("the event %s was said to be at %d of %d", id, v.Sequence, len(list))
				}
			}
		}
		t.Logf("client %d: answers by status %v", i, p.answers)
	}
	if events != len(digests) {
		t.Errorf("%d events were answered as stored, and the stream has %d", events, len(digests))
	}
	t.Logf("%d kills, %d events in %d messages", kills, events, len(list))
}

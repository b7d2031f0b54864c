package producer

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/schema"
)

// allBytes reads the whole stream, headers and data.
func allBytes(t testing.TB, b *bustest.Bus, each func(headers, data []byte)) int {
	t.Helper()
	stream, err := b.JS.Stream(t.Context(), "CTX")
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := stream.OrderedConsumer(t.Context(), jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		t.Fatal(err)
	}
	defer messages.Stop()
	total := int(stream.CachedInfo().State.Msgs)
	for range total {
		m, err := messages.Next(jetstream.NextMaxWait(10 * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		var headers strings.Builder
		headers.WriteString(m.Subject())
		for name, values := range m.Headers() {
			headers.WriteString("\n" + name + ": " + strings.Join(values, "\n"))
		}
		each([]byte(headers.String()), m.Data())
	}
	return total
}

// rareDisguises is the number of spots in a row of which one has a disguise that is not
// tried everywhere.
const rareDisguises = 16

func must[A any](a A, err error) A {
	if err != nil {
		panic(err)
	}
	return a
}

// leakage counts the results for secrets in one disguise.
type leakage struct {
	planted  int // number of facts
	IDs      int // number of facts whose spot is an id, which is refused and not masked
	readable int // a reader finds the secret in the original fact
	masked   int // recorded with a mask
	refused  int // as a WithheldError
	invalid  int // refused by the contract for any text
	leaked   int // a reader finds the secret in the stream or in errors
}

// rate returns the share of the readable secrets that became unreadable, in percent.
func (l leakage) rate() float64 { return 100 * float64(l.readable-l.leaked) / float64(l.readable) }

// plantEverywhere records a fact for each spot and disguise through a client, and then
// reads the whole stream and all errors.
func plantEverywhere(t testing.TB, b *bustest.Bus) map[string]*leakage {
	secrets := leakSecrets(1_000)
	look := newReader(secrets)
	client := newClient(t, b, guarding(t), func(c *Config) {
		var values []redact.Value
		for i, s := range secrets { // one policy each, so a redaction has one fingerprint
			values = append(values, redact.Withhold(s, fmt.Sprint("policy:", i), "secret"))
		}
		c.Guard = must(c.Guard.With(values...))
	})
	result := make(map[string]*leakage)
	for _, d := range disguises {
		result[d.name] = new(leakage)
	}
	next := 0
	for i, p := range plantings(t) {
		for j, d := range disguises {
			if !d.everywhere && (i+j)%rareDisguises != 0 {
				continue
			}
			secret := next % len(secrets)
			next++
			parts := d.write(secrets[secret])
			if len(parts) > 1 && p.extra {
				continue
			}
			r := result[d.name]
			r.planted++
			if p.id() {
				r.IDs++
			}
			plain, err := schema.NewEvent(p.fact(t, parts...), "x", "urn:test", time.Unix(1, 0), schema.Correlation{})
			if err != nil {
				continue // not valid text in JSON
			}
			readable := len(look.finds(plain.Data)) > 0
			if readable {
				r.readable++
			}
			var violations schema.Violations
			_, err = client.Record(t.Context(), p.fact(t, parts...), schema.Correlation{SessionID: "s", TurnID: fmt.Sprint("t-", d.name)})
			switch {
			case errors.Is(err, ErrWithheld):
				r.refused++
			case err == nil && p.id() && readable:
				t.Errorf("%s%s as %s: an id was recorded", p.kind, p.path, d.name)
			case errors.As(err, &violations):
				r.invalid++
			case err != nil:
				t.Errorf("%s%s as %s: %v", p.kind, p.path, d.name, err)
			default:
				r.masked++
			}
			if err != nil && len(look.finds([]byte(err.Error()))) > 0 {
				t.Errorf("%s%s as %s: the error says it", p.kind, p.path, d.name)
				r.leaked++
			}
		}
	}
	if next < len(secrets) {
		t.Errorf("only %d secrets were planted", next)
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	allBytes(t, b, func(headers, data []byte) {
		for _, text := range [][]byte{headers, data} {
			for range look.finds(text) {
				_, name, _ := strings.Cut(string(headers), "ce-turnid: t-")
				name, _, _ = strings.Cut(name, "\n")
				if result[name].leaked++; result[name].leaked < 4 {
					t.Logf("%s: %s", name, text)
				}
			}
		}
	})
	return result
}

// TestNoSecretReachesTheStream plants secrets in every text field of every event type. Each
// field gets the disguises that are tried everywhere. The other disguises are spread over
// the fields.
func TestNoSecretReachesTheStream(t *testing.T) {
	t.Parallel()
	for name, r := range plantEverywhere(t, bustest.Start(t)) {
		if r.leaked > 0 || r.masked < (r.planted-r.IDs)*2/3 {
			t.Errorf("%s: %+v", name, *r)
		}
	}
}

// BenchmarkDisguises reports, for each disguise, the share of facts with a readable secret
// that reach the stream without it, in percent.
func BenchmarkDisguises(b *testing.B) {
	for b.Loop() {
		for name, r := range plantEverywhere(b, bustest.Start(b)) {
			b.ReportMetric(r.rate(), name+"-%")
		}
	}
}

// TestNoSecretInIDs: every id of a fact is refused if it holds a withheld value.
func TestNoSecretInIDs(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b, guarding(t))
	for _, f := range schema.CorrelationFields {
		for _, d := range disguises {
			ids := schema.Correlation{SessionID: "s"}
			*f.Of(&ids) = strings.Join(d.write(secretValue), "")
			if len(d.write(secretValue)) > 1 || f.Column == "tenant" || f.Column == "runtime_id" { // the client's own
				continue
			}
			var withheld *WithheldError
			_, err := client.Record(t.Context(), &schema.ItemRemoved{ItemID: "i"}, ids)
			if !errors.As(err, &withheld) || withheld.Field != f.Column || withheld.PolicyRef != "policy:test" {
				t.Errorf("%s as %s: %v", f.Column, d.name, err)
			}
		}
	}
}

// TestSecretNumbers: a number that is a withheld value is masked in fields of any type, and
// refused in fields for numbers. A short number is a count.
func TestSecretNumbers(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b, guarding(t, "1500", "4711081512"))
	record := func(fact schema.Fact) error {
		_, err := client.Record(t.Context(), fact, schema.Correlation{SessionID: "s"})
		return err
	}
	added := &schema.ItemAdded{Item: schema.Item{ItemID: "i", TokenEstimate: new(int64(1500))}}
	added.Metadata = map[string]any{"pin": 4711081512}
	if err := record(added); err != nil {
		t.Error(err)
	}
	var withheld *WithheldError
	err := record(&schema.ItemAdded{Item: schema.Item{ItemID: "i", ByteSize: new(int64(4711081512))}})
	if !errors.As(err, &withheld) || withheld.Field != "byte_size" {
		t.Errorf("a count that is a withheld value: %v", err)
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := b.Events(t)
	if len(events) != 2 || !strings.Contains(string(events[1].Data), `"token_estimate":1500`) ||
		!strings.Contains(string(events[1].Data), `"pin":"[redacted:policy:test]"`) {
		t.Errorf("%d events, %s", len(events), events[len(events)-1].Data)
	}
}

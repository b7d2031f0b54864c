package privacy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/internal/column"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

// Recheck is how far a pass over a tenant's events has come that looks for the
// values of one set of fingerprints. The zero Place is the beginning.
type Recheck struct {
	Tenant       string
	Fingerprints string // names the set, see FingerprintSet
	Pass         uint64 // counts the passes with this set, from 1 on
	Place        Place  // of the last event that was read
	Events       uint64 // read so far
	Found        uint64 // of them with a withheld value
	Finished     bool
}

// Place is the place of an event in a tenant's part of the table events.
type Place struct {
	Session     string
	Incarnation uuid.UUID
	StreamSeq   uint64
}

// FingerprintSet names a set of fingerprints, whose order counts. The set is a digest of public
// values of the redactions.
func FingerprintSet(list []Withheld) string {
	h := sha256.New()
	for _, w := range list {
		fmt.Fprintf(h, "%q %d %q %q\n", w.Fingerprint.KeyID, w.Fingerprint.Length, w.Fingerprint.PrefixHash, w.Fingerprint.HMAC)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// LastRecheck returns the latest pass with a set of fingerprints, and a zero
// Pass when there was none.
func (l Tables) LastRecheck(ctx context.Context, tenant, fingerprints string) (Recheck, error) {
	r := Recheck{Tenant: tenant, Fingerprints: fingerprints}
	params := chsql.Params{"tenant": chsql.Text(tenant), "fingerprints": chsql.Text(fingerprints)}
	_, err := l.sql.First(ctx, "last_recheck", params, &r.Pass, &r.Place.Session, &r.Place.Incarnation, &r.Place.StreamSeq, &r.Events, &r.Found, &r.Finished)
	if err != nil {
		return r, fmt.Errorf("read re-checks: %w", err)
	}
	return r, nil
}

// EventText holds the texts of an event that can contain a value.
type EventText struct {
	ledger.Position
	Place      Place
	Turn       string
	Type       string
	Record     string   // id of the record that the event is about
	Data       string   // as it came
	Attributes []string // all others long enough to hold a fingerprinted value, names of extensions included
}

// EventTexts calls visit for every event of a tenant after a place, in the order of places, and
// stops at the first error. One block of events is held at a time.
func (l Tables) EventTexts(ctx context.Context, tenant string, after Place, visit func(EventText) error) error {
	answer := l.sql.Rows(ctx, "event_texts", chsql.Params{
		"tenant": chsql.Text(tenant), "session": chsql.Text(after.Session), "incarnation": chsql.UUID(after.Incarnation), "after": chsql.Number(after.StreamSeq),
		"shortest": chsql.Number(fingerprint.Prefix),
	})
	for row := range answer {
		var e EventText
		err := row.Scan(&e.Incarnation, &e.StreamSeq, &e.RecordedAt, &e.Place.Session, &e.Turn, &e.Type, &e.Record, &e.Data, &e.Attributes)
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		e.Place.Incarnation, e.Place.StreamSeq = e.Incarnation, e.StreamSeq
		if err := visit(e); err != nil {
			return err
		}
	}
	return nil
}

// Reintroduction is an event that holds a value which a redaction withholds, a row of the table
// reintroductions. A finding never holds the value: names with the value are masked.
type Reintroduction struct {
	Incarnation uuid.UUID `ch:"incarnation"`
	StreamSeq   uint64    `ch:"stream_seq"`
	RecordedAt  time.Time `ch:"recorded_at"`
	Tenant      string    `ch:"tenant"`
	Session     string    `ch:"session_id"`
	Turn        string    `ch:"turn_id"`
	Type        string    `ch:"event_type"`
	Record      string    `ch:"record_id"` // of the event
	RedactionID string    `ch:"redaction_id"`
	PolicyRef   string    `ch:"policy_ref"`
}

// recheckRow is a row of the table rechecks.
type recheckRow struct {
	Tenant       string    `ch:"tenant"`
	Fingerprints string    `ch:"fingerprints"`
	Pass         uint64    `ch:"pass"`
	Session      string    `ch:"session_id"`
	Incarnation  uuid.UUID `ch:"incarnation"`
	StreamSeq    uint64    `ch:"stream_seq"`
	Events       uint64    `ch:"events"`
	Found        uint64    `ch:"found"`
	Finished     bool      `ch:"finished"`
}

// SaveRecheck stores the findings since the last call, a block for each month of the events,
// and then the progress of the pass. The call may be repeated: repeated rows collapse.
func (l Tables) SaveRecheck(ctx context.Context, r Recheck, found []Reintroduction) error {
	// Two blocks that are equal by chance are two blocks: nothing is dropped.
	settings := []ch.Setting{{Key: "async_insert", Value: "0", Important: true}, {Key: "insert_deduplicate", Value: "0", Important: true}}
	months := make(map[int][]Reintroduction)
	for _, f := range found {
		month := f.RecordedAt.Year()*12 + int(f.RecordedAt.Month())
		months[month] = append(months[month], f)
	}
	for _, rows := range months {
		if err := l.ledger.InsertBlock(ctx, column.TableOf("reintroductions", rows...), "", settings); err != nil {
			return err
		}
	}
	return l.ledger.InsertBlock(ctx, column.TableOf("rechecks", recheckRow{
		Tenant: r.Tenant, Fingerprints: r.Fingerprints, Pass: r.Pass, Session: r.Place.Session, Incarnation: r.Place.Incarnation,
		StreamSeq: r.Place.StreamSeq, Events: r.Events, Found: r.Found, Finished: r.Finished,
	}), "", settings)
}

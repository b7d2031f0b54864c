// Package migratetest has the tables and views that released versions made, so that
// tests can upgrade from each. testdata/states.json.gz was dumped from a ClickHouse
// after each numbered change up to 0090: objects that many states share are there once,
// as the statement that makes them, with the first number that has them and the first
// that has them no more.
package migratetest

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed" // the states
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

//go:embed testdata/states.json.gz
var dump []byte

// A State is what a database had whose newest change was this.
type State struct {
	Version uint32 `json:"version"`
	Name    string `json:"name"` // NNNN_verb
}

type object struct {
	Since uint32 `json:"since"`
	Until uint32 `json:"until"` // 0: to the end
	Name  string `json:"name"`
	SQL   string `json:"sql"`
}

func (o object) isView() bool { return strings.HasPrefix(o.SQL, "CREATE VIEW") }

type dumped struct {
	States  []State  `json:"states"`
	Objects []object `json:"objects"` // tables before views
}

var read = sync.OnceValue(func() (d dumped) {
	z, err := gzip.NewReader(bytes.NewReader(dump))
	if err == nil {
		err = json.NewDecoder(z).Decode(&d)
	}
	if err != nil {
		panic(fmt.Sprintf("testdata/states.json.gz: %v", err))
	}
	return d
})

// States returns all states, the oldest first.
func States() []State { return read().States }

// withFacts is the first state with tables of facts.
const withFacts = 3

// HoldsFacts reports whether the state has tables of facts that are not those of the state before.
func (s State) HoldsFacts() bool {
	return s.Version >= withFacts && slices.ContainsFunc(read().Objects, func(o object) bool {
		return !o.isView() && (o.Since == s.Version || o.Until == s.Version)
	})
}

// Make fills an empty database with the tables and views of the state, without rows,
// and with the numbers that had been recorded.
func (s State) Make(ctx context.Context, conn driver.Conn) error {
	var database string
	if err := conn.QueryRow(ctx, "SELECT currentDatabase()").Scan(&database); err != nil {
		return err
	}
	for _, view := range []bool{false, true} {
		for _, o := range read().Objects {
			if o.Since > s.Version || o.Until != 0 && o.Until <= s.Version || o.isView() != view {
				continue
			}
			if err := conn.Exec(ctx, strings.ReplaceAll(o.SQL, "{database}", database)); err != nil {
				return fmt.Errorf("make %s of %s: %w", o.Name, s.Name, err)
			}
		}
	}
	var numbers []string
	for _, earlier := range States() {
		if earlier.Version <= s.Version {
			numbers = append(numbers, fmt.Sprintf("(%d, '%s')", earlier.Version, earlier.Name))
		}
	}
	if err := conn.Exec(ctx, "INSERT INTO migrations VALUES "+strings.Join(numbers, ", ")); err != nil {
		return err
	}
	return nil
}

package read

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// A Bucket is one of the disjoint kinds of tokens that a provider bills separately.
type Bucket string

// The buckets, as schema.ProviderUsage has them. The price of cache_write applies to
// cache_write_5m and cache_write_1h without a price; where reasoning has none, that of output.
const (
	BucketInput        Bucket = "input"
	BucketCacheRead    Bucket = "cache_read"
	BucketCacheWrite5m Bucket = "cache_write_5m"
	BucketCacheWrite1h Bucket = "cache_write_1h"
	BucketCacheWrite   Bucket = "cache_write"
	BucketOutput       Bucket = "output"
	BucketReasoning    Bucket = "reasoning"
)

// above is between a bucket and its step, as in input_above_200k.
const above = "_above_"

// Above returns the bucket of the price that holds for a whole call whose window has more than this many
// thousand tokens. The windows are those of the provider's bill: input, cache reads and cache writes.
func (b Bucket) Above(thousands int) Bucket {
	return Bucket(fmt.Sprintf("%s%s%dk", b, above, thousands))
}

// Valid reports whether the bucket is one of Buckets, or a step of one.
func (b Bucket) Valid() bool {
	base, step, stepped := strings.Cut(string(b), above)
	if !slices.Contains(Buckets, Bucket(base)) {
		return false
	}
	thousands, err := strconv.Atoi(strings.TrimSuffix(step, "k"))
	return !stepped || err == nil && thousands > 0 && thousands <= 1_000_000 && b == Bucket(base).Above(thousands)
}

// Buckets lists all of them. The slice must not be changed.
var Buckets = []Bucket{BucketInput, BucketCacheRead, BucketCacheWrite5m, BucketCacheWrite1h, BucketCacheWrite, BucketOutput, BucketReasoning}

// A Price is the price of the tokens of one bucket. Prices are configuration, not facts: they
// come from no stream, a rebuild keeps them, and all tenants share them. A model without a told
// price has that of the built-in list, which [ModelList.SetBuiltIn] switches off.
type Price struct {
	Model      string    // the provider's name of the model; * stands for any characters, and the longest name that fits holds
	Bucket     Bucket    // which tokens
	PerMillion float64   // in Currency, for a million tokens
	Currency   string    // ISO 4217 code
	ValidFrom  time.Time // zero is from the beginning
	ValidUntil time.Time // not included; zero is no end
	Source     string    // where it was read: an address, a contract, …
}

// ErrPrice is wrapped by the errors of Validate.
var ErrPrice = errors.New("wrong price")

// earliest is the stored form of the beginning of time.
var earliest = time.Unix(0, 0).UTC()

// Validate returns an error for the first wrong field, with the allowed values. The error wraps
// [ErrPrice].
func (p Price) Validate() error {
	wrong := func(field string, value any, want string) error {
		return fmt.Errorf("%w: %s is %q, want %s", ErrPrice, field, fmt.Sprint(value), want)
	}
	upper := func(r rune) bool { return r < 'A' || r > 'Z' }
	switch {
	case strings.TrimSpace(p.Model) == "":
		return wrong("model", p.Model, "a model's name, * for any characters")
	case !p.Bucket.Valid():
		return wrong("bucket", p.Bucket, "one of "+strings.Trim(fmt.Sprint(Buckets), "[]")+", or one of these with a step such as _above_200k")
	case math.IsNaN(p.PerMillion) || p.PerMillion < 0 || p.PerMillion > 1e9:
		return wrong("per_million", p.PerMillion, "a number from 0 to 1000000000: the price of a million tokens")
	case len(p.Currency) != 3 || strings.ContainsFunc(p.Currency, upper):
		return wrong("currency", p.Currency, "an ISO 4217 code such as USD")
	case strings.TrimSpace(p.Source) == "":
		return wrong("source", p.Source, "where the price was read")
	case !p.ValidFrom.IsZero() && (p.ValidFrom.Before(earliest) || p.ValidFrom.Year() > 2259):
		return wrong("valid_from", p.ValidFrom.Format(time.RFC3339), "a time from 1970 to 2259")
	case !p.ValidUntil.IsZero() && (!p.ValidUntil.After(p.ValidFrom) || p.ValidUntil.Year() > 2259):
		return wrong("valid_until", p.ValidUntil.Format(time.RFC3339), "a time after valid_from, to 2259")
	}
	return nil
}

// priceRow is a row of the table prices.
type priceRow struct {
	Model      string     `ch:"model"`
	Bucket     string     `ch:"bucket"`
	Currency   string     `ch:"currency"`
	ValidFrom  time.Time  `ch:"valid_from"`
	ValidUntil *time.Time `ch:"valid_until"`
	PerMillion float64    `ch:"per_million"`
	Source     string     `ch:"source"`
	Version    uint64     `ch:"version"`
	Removed    uint8      `ch:"removed"`
}

func (p Price) row(version uint64) priceRow {
	row := priceRow{
		Model: p.Model, Bucket: string(p.Bucket), Currency: p.Currency, ValidFrom: p.ValidFrom, PerMillion: p.PerMillion, Source: p.Source, Version: version,
	}
	if row.ValidFrom.IsZero() {
		row.ValidFrom = earliest
	}
	if !p.ValidUntil.IsZero() {
		row.ValidUntil = &p.ValidUntil
	}
	return row
}

// ImportPrices stores prices in one block, so all of them or none. One with the model, bucket,
// currency and beginning of an earlier one replaces it. With replace, all other told prices are
// removed; the built-in list stays. For an invalid price the error wraps [ErrPrice], and nothing is stored. The last of
// two that import at the same time holds.
func (l ModelList) ImportPrices(ctx context.Context, prices []Price, replace bool) error {
	for i, p := range prices {
		if err := p.Validate(); err != nil {
			return fmt.Errorf("price %d: %w", i+1, err)
		}
	}
	version := uint64(time.Now().UnixNano())
	var rows []priceRow
	if replace {
		old, err := l.Prices(ctx)
		if err != nil {
			return err
		}
		for _, p := range old {
			gone := p.row(version)
			gone.Removed = 1
			rows = append(rows, gone)
		}
	}
	for _, p := range prices {
		rows = append(rows, p.row(version+1))
	}
	if err := insert(ctx, l, "insert_prices", rows); err != nil {
		return fmt.Errorf("store prices: %w", err)
	}
	return nil
}

// insert stores rows in one block.
func insert[Row any](ctx context.Context, l ModelList, statement string, rows []Row) error {
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"async_insert": 0}))
	batch, err := l.sql.Conn.PrepareBatch(ctx, l.sql.Text(statement))
	if err != nil {
		return err
	}
	for i := range rows {
		if err := batch.AppendStruct(&rows[i]); err != nil {
			return errors.Join(err, batch.Abort())
		}
	}
	return batch.Send()
}

// builtIn is the bucket of the row that switches the built-in list off.
const builtIn Bucket = "built_in"

// SetBuiltIn switches the built-in list of prices and limits on or off, for all tenants. The list
// is on in a new ledger. It says nothing of a model that a told price matches.
func (l ModelList) SetBuiltIn(ctx context.Context, on bool) error {
	row := Price{Model: "*", Bucket: builtIn, Source: "switched off"}.row(uint64(time.Now().UnixNano()))
	if on {
		row.Removed = 1
	}
	if err := insert(ctx, l, "insert_prices", []priceRow{row}); err != nil {
		return fmt.Errorf("switch the built-in list of prices: %w", err)
	}
	return nil
}

// Prices returns every told price, by model, bucket, currency and beginning.
func (l ModelList) Prices(ctx context.Context) ([]Price, error) {
	var list []Price
	for row := range l.sql.Rows(ctx, "prices", nil) {
		var p Price
		var bucket string
		var until *time.Time
		if err := row.Scan(&p.Model, &bucket, &p.PerMillion, &p.Currency, &p.ValidFrom, &until, &p.Source); err != nil {
			return nil, fmt.Errorf("read the prices: %w", err)
		}
		p.Bucket = Bucket(bucket)
		if until != nil {
			p.ValidUntil = *until
		}
		list = append(list, p)
	}
	return list, nil
}

package read

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

// ModelList is what is known about models whoever uses them: their limits and prices.
type ModelList struct{ sql chsql.DB }

// Models returns the list of a ledger.
func Models(l *ledger.Ledger) ModelList { return ModelList{l.SQL(files)} }

// A ModelLimit is how many tokens a model takes and gives. Limits are configuration as prices are:
// they come from no stream, a rebuild keeps them, and all tenants share them.
type ModelLimit struct {
	Model     string  // the provider's name of the model; * stands for any characters, and the longest name that fits holds
	MaxInput  *uint32 // tokens; nil is unknown
	MaxOutput *uint32 // tokens; nil is unknown
	Source    string  // where it was read
}

// ErrModelLimit is wrapped by the errors of Validate.
var ErrModelLimit = errors.New("wrong limit")

// Validate returns an error for the first wrong field. The error wraps [ErrModelLimit].
func (l ModelLimit) Validate() error {
	switch {
	case strings.TrimSpace(l.Model) == "":
		return fmt.Errorf("%w: model is %q, want a model's name, * for any characters", ErrModelLimit, l.Model)
	case l.MaxInput == nil && l.MaxOutput == nil:
		return fmt.Errorf("%w: %s has neither a largest input nor a largest output", ErrModelLimit, l.Model)
	case strings.TrimSpace(l.Source) == "":
		return fmt.Errorf("%w: source is %q, want where the limit was read", ErrModelLimit, l.Source)
	}
	return nil
}

// limitRow is a row of the table limits.
type limitRow struct {
	Model     string  `ch:"model"`
	MaxInput  *uint32 `ch:"max_input_tokens"`
	MaxOutput *uint32 `ch:"max_output_tokens"`
	Source    string  `ch:"source"`
	Version   uint64  `ch:"version"`
	Removed   uint8   `ch:"removed"`
}

// ImportLimits stores limits in one block, so all of them or none. One replaces an earlier one of
// the same model. For an invalid limit the error wraps [ErrModelLimit], and nothing is stored.
func (l ModelList) ImportLimits(ctx context.Context, limits []ModelLimit) error {
	version := uint64(time.Now().UnixNano())
	rows := make([]limitRow, len(limits))
	for i, limit := range limits {
		if err := limit.Validate(); err != nil {
			return fmt.Errorf("limit %d: %w", i+1, err)
		}
		rows[i] = limitRow{Model: limit.Model, MaxInput: limit.MaxInput, MaxOutput: limit.MaxOutput, Source: limit.Source, Version: version}
	}
	if err := insert(ctx, l, "insert_limits", rows); err != nil {
		return fmt.Errorf("store limits: %w", err)
	}
	return nil
}

// InputLimit returns the largest input of a model in tokens, and where it was read: of the told
// limits, or of the built-in list unless it is off. It is nil if it is not known.
func (l ModelList) InputLimit(ctx context.Context, model string) (tokens *int64, source string, err error) {
	for row := range l.sql.Rows(ctx, "input_limit", chsql.Params{"model": chsql.Text(model)}) {
		var limit *uint32
		var from string
		if err := row.Scan(&limit, &from); err != nil {
			return nil, "", fmt.Errorf("read the limits of models: %w", err)
		}
		if limit != nil {
			tokens, source = new(int64(*limit)), from
		}
	}
	return tokens, source, nil
}

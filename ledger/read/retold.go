package read

import (
	"context"
	"fmt"
	"slices"

	"github.com/ctxledger/ctxledger/schema/telling"
)

// Retold is a source of imported facts, and the source that tells the same log better.
type Retold struct{ Source, By string }

// RetoldIn returns the sources of imported facts of a scope's session that another source tells
// better, in order.
func RetoldIn(ctx context.Context, l Reader, s Scope) ([]Retold, error) {
	var list []Retold
	var counts []string
	for row := range l.sql.Rows(ctx, "retold_in", s.parameters()) {
		var source string
		var better bool
		if err := row.Scan(&source, &better); err != nil {
			return nil, fmt.Errorf("look for tellings of one log: %w", err)
		}
		if better {
			list = append(list, Retold{Source: source})
		} else {
			counts = append(counts, source)
		}
	}
	for i := range list {
		mine, _ := telling.Parse(list[i].Source)
		for _, source := range counts {
			other, _ := telling.Parse(source)
			if other.Log == mine.Log || list[i].By == "" && other.IsSliceOf(mine) {
				list[i].By = source
			}
		}
	}
	return slices.DeleteFunc(list, func(r Retold) bool { return r.By == "" }), nil
}

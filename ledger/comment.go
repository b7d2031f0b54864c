package ledger

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// A Comment says what a row of a view or table is, or what a column of it means. It
// is what DESCRIBE TABLE and the clients of ClickHouse show.
type Comment struct {
	Relation string
	Column   string // empty for the relation itself
	Text     string
}

// SetComments changes the comments that differ, and leaves out those of what is not
// there. A migration that replaces a view takes its comments away: set them after
// [Ledger.Migrate]. It may be called again at any time, also after it was
// interrupted.
func (l *Ledger) SetComments(ctx context.Context, comments []Comment) error {
	changes, err := l.uncommented(ctx, comments)
	if err != nil {
		return fmt.Errorf("compare comments: %w", err)
	}
	if err := l.exec(ctx, changes); err != nil {
		return fmt.Errorf("change comments: %w", err)
	}
	return nil
}

// uncommented returns the statements that make the comments what they are to be.
func (l *Ledger) uncommented(ctx context.Context, comments []Comment) (changes []string, err error) {
	var relations, columns, texts []string
	for _, c := range comments {
		relations, columns, texts = append(relations, c.Relation), append(columns, c.Column), append(texts, c.Text)
	}
	params := clickhouse.Parameters{"relations": TextsParameter(relations), "columns": TextsParameter(columns), "comments": TextsParameter(texts)}
	rows, err := l.conn.Query(l.with(ctx, params), statement("uncommented"))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var change string
		if err := rows.Scan(&change); err != nil {
			return nil, err
		}
		changes = append(changes, change)
	}
	return changes, rows.Err()
}

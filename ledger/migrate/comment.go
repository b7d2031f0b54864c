package migrate

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// setComments gives views and their columns the comments that their headers have, which
// DESCRIBE TABLE and the clients of ClickHouse show. Differing comments are changed.
func (d *database) setComments(ctx context.Context, views []View) error {
	changes, err := d.uncommented(ctx, views)
	if err != nil {
		return fmt.Errorf("compare comments: %w", err)
	}
	if err := d.exec(ctx, changes...); err != nil {
		return fmt.Errorf("change comments: %w", err)
	}
	return nil
}

// uncommented returns the statements that set differing comments.
func (d *database) uncommented(ctx context.Context, views []View) (changes []string, err error) {
	var relations, columns, comments []string
	add := func(relation, column, comment string) {
		relations, columns, comments = append(relations, relation), append(columns, column), append(comments, comment)
	}
	for _, v := range views {
		add(v.Name, "", v.Title)
		for _, c := range v.Columns {
			add(v.Name, c.Name, c.comment())
		}
	}
	err = d.conn.QueryRow(ctx, statement("uncommented"), clickhouse.Named("relations", relations), clickhouse.Named("columns", columns),
		clickhouse.Named("comments", comments)).Scan(&changes)
	return changes, err
}

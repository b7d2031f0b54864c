package chsql

import (
	"context"
	"errors"
)

// Copy inserts the rows of a statement of db into a table of another server. into is the statement file
// of to with the insert. The types of the columns must be equal. The rows pass block by block. After an
// error some of them may be in the table.
func (db DB) Copy(ctx context.Context, name string, params Params, to DB, into string, intoParams Params) (err error) {
	rows, err := db.Query(ctx, name, params)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	batch, err := to.Conn.PrepareBatch(with(ctx, intoParams), to.Text(into))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, batch.Close()) }()
	if err := batch.Append(rows); err != nil {
		return err
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return batch.Send()
}

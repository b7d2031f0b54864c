package ledger

import (
	"context"
	"fmt"
)

// ReadOnly returns the user's setting. The setting belongs to the user, who is the same on
// every connection: one answer holds for all queries.
func (l *Ledger) ReadOnly(ctx context.Context) (string, error) {
	if known := l.readonly.Load(); known != nil {
		return *known, nil
	}
	var value string
	if err := l.sql.Row(ctx, "read_only", nil).Scan(&settingValue{&value}); err != nil {
		return "", err
	}
	l.readonly.Store(&value)
	return value, nil
}

// settingValue reads a setting of any type.
type settingValue struct{ text *string }

// Scan implements sql.Scanner.
func (v *settingValue) Scan(value any) error {
	*v.text = fmt.Sprint(value)
	return nil
}

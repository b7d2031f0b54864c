package retention

import (
	"testing"
	"time"
)

func TestOverdue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	old, new := now.Add(-time.Hour), now.Add(-time.Minute)
	hour, small := Policy{AgeSeconds: 1800}, Policy{Bytes: 1000}
	for name, test := range map[string]struct {
		policy Policy
		state  State
		want   bool
	}{
		"nothing is limited":           {Policy{}, State{First: 1, FirstAt: old, Bytes: 1 << 40, Through: 9}, false},
		"old messages that may leave":  {hour, State{First: 1, FirstAt: old, Through: 9, Kept: ByPolicy}, true},
		"old messages of a last batch": {hour, State{First: 10, FirstAt: old, Through: 9, Kept: ByCommit}, false},
		"old messages and no backup":   {hour, State{First: 10, FirstAt: old, Through: 9, Kept: ByBackup}, true},
		"old messages and no head":     {hour, State{First: 10, FirstAt: old, Through: 9, Kept: ByHead}, true},
		"new messages and no backup":   {hour, State{First: 10, FirstAt: new, Through: 9, Kept: ByBackup}, false},
		"an empty stream":              {hour, State{First: 10, Through: 9, Kept: ByBackup}, false},
		"a pass is soon":               {small, State{First: 1, FirstAt: new, Bytes: 1400, Through: 9}, false},
		"no pass for long":             {small, State{First: 1, FirstAt: new, Bytes: 2000, Through: 9}, true},
	} {
		if got := test.state.Overdue(test.policy, now); got != test.want {
			t.Errorf("%s: overdue is %t", name, got)
		}
	}
}

package answer

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/queries"
)

// Some of the standing checks relate facts of several sessions:
//
//	references_elsewhere    an item names a resource or an offer that another shard has
//	unsealed_scopes         a source seals sessions of another shard; the newest fact is there
//	redaction_reintroduced  a redaction was revoked in a session of another shard
//	sequence_gaps           a refused event is on another shard than its session
//	compaction_dropped_…    a step of a gap is in a session of another shard; see gaps.go
//
// Each shard is asked first for what it lacks, then for what the others lack. Then each runs the
// statements of these checks with the answers.

// A reference is what a shard names and does not have: a resource, an offer, or a source as sealer.
type reference struct{ Kind, Tenant, ID string }

// A revocation is a fact that took a redaction back.
type revocation struct {
	Tenant, Redaction string
	At                time.Time
	Sequence          uint64
}

// A stray is a refused event on a shard that has no event of its session.
type stray struct {
	Tenant, Source, Session string
	Number                  uint64
}

// lack is what one shard lacks for its checks. [settle] makes it what the shard gets.
type lack struct {
	references  []reference
	strays      []stray
	moved       []string // sessions of strays that another shard gets
	revocations []revocation
	head        time.Time
}

// checked and ofTenant are around the name of a check in a query.
const checked, ofTenant = "FROM check_", "_of(tenant = {tenant:String})"

// withChecks returns a query that runs checks, and its values for each shard.
func withChecks(ctx context.Context, shards *cluster.Ledgers, q queries.Query, bound map[string]string) (queries.Query, []map[string]string, error) {
	all := slices.Repeat([]map[string]string{bound}, len(shards.All()))
	asked := make(map[string]bool)
	for name := range changes {
		if !strings.Contains(q.SQL, checked+name+ofTenant) {
			continue
		}
		text, err := crossing(shards.All()[0].SQL(files), name)
		if err != nil {
			return q, nil, err
		}
		q.SQL = strings.ReplaceAll(q.SQL, checked+name+ofTenant, "FROM (\n"+text+"\n)")
		asked[name] = true
	}
	if len(asked) == 0 {
		return q, all, nil
	}
	list := make([]lack, len(all))
	err := shards.Each(func(at int, l *ledger.Ledger) error { return list[at].read(ctx, l, asked, bound) })
	if err == nil {
		err = settle(ctx, shards, list)
	}
	if err != nil {
		return q, nil, err
	}
	var revocations []revocation
	var heads []time.Time
	for _, of := range list {
		revocations, heads = append(revocations, of.revocations...), append(heads, of.head)
	}
	for i, of := range list {
		all[i] = with(bound, newestFact, formatHead(heads))
		for name, value := range map[string]any{"elsewhere": of.references, "strays": of.strays, "moved": of.moved, "revocations": revocations} {
			text, err := json.Marshal(value)
			if err != nil {
				return q, nil, err
			}
			all[i][name] = string(text)
		}
	}
	return q, all, nil
}

// A change replaces a part of a check's statement by a statement, in parentheses unless it is a table
// of the check.
type change struct{ part, by, rest string }

// changes are the parts of the checks that read facts of other sessions.
var changes = map[string][]change{
	"references_elsewhere": {
		{part: "FROM scopes\n", by: "all_resources", rest: "\n"},
		{part: "FROM items\n    WHERE (tenant, item_id) IN (SELECT tenant, offered_by FROM accepted) AND", by: "all_offers", rest: "\n    WHERE"},
	},
	"unsealed_scopes":             {{part: "FROM scopes\n", by: "all_envelopes", rest: "\n"}},
	"redaction_reintroduced":      {{part: "FROM events \n    WHERE event_type =", by: "all_revocations", rest: "\n    WHERE event_type ="}},
	"compaction_dropped_open_gap": nil,
	"sequence_gaps":               {{part: "\nrecorded AS\n", by: "all_refused"}},
}

// crossing returns the statement of a check on one of several shards.
func crossing(files chsql.DB, name string) (string, error) {
	text, ok := migrate.CheckStatement(name)
	for _, c := range changes[name] {
		by := strings.ReplaceAll(files.Text(c.by), "{elsewhere}", files.Text("elsewhere"))
		if ok = ok && strings.Count(text, c.part) == 1; c.rest == "" {
			text = strings.Replace(text, "\nrefused AS\n", "\nrefused_here AS\n", 1)
			text = strings.Replace(text, c.part, "\n"+by+c.part, 1)
		} else {
			text = strings.Replace(text, c.part, "FROM ("+by+")"+c.rest, 1)
		}
	}
	if !ok {
		return "", fmt.Errorf("the statement of the check %s is not known here", name)
	}
	return strings.ReplaceAll(text, headView, headGiven), nil
}

// read asks a shard what it lacks for some checks.
func (k *lack) read(ctx context.Context, l *ledger.Ledger, checks map[string]bool, bound map[string]string) error {
	refer := func(row []any) {
		k.references = append(k.references, reference{row[0].(string), row[1].(string), row[2].(string)})
	}
	for _, s := range []struct {
		check, name string
		visit       func(row []any)
	}{
		{"references_elsewhere", "lacking_references", refer},
		{"unsealed_scopes", "lacking_sealers", refer},
		{"sequence_gaps", "strays", func(row []any) {
			k.strays = append(k.strays, stray{row[0].(string), row[1].(string), row[2].(string), row[3].(uint64)})
		}},
	} {
		if !checks[s.check] {
			continue
		}
		if err := rowsOf(ctx, l, s.check, s.name, bound, s.visit); err != nil {
			return err
		}
	}
	db := l.SQL(files)
	if checks["redaction_reintroduced"] {
		for row := range db.Rows(ctx, "revocations", nil) {
			var r revocation
			if err := row.Scan(&r.Tenant, &r.Redaction, &r.At, &r.Sequence); err != nil {
				return fmt.Errorf("read revocations: %w", err)
			}
			k.revocations = append(k.revocations, r)
		}
	}
	return db.Row(ctx, "head", nil).Scan(&k.head)
}

// rowsOf visits the rows of a statement that reads the tables which the statement of a check defines.
func rowsOf(ctx context.Context, l *ledger.Ledger, check, name string, bound map[string]string, visit func([]any)) error {
	text, _ := migrate.CheckStatement(check)
	end := strings.LastIndex(text, "\n)\nSELECT")
	if end < 0 {
		return fmt.Errorf("the statement of the check %s is not known here", check)
	}
	return visitRows(ctx, l, text[:end]+"\n)\n"+l.SQL(files).Text(name), bound, visit)
}

// visitRows visits all rows of a statement.
func visitRows(ctx context.Context, l *ledger.Ledger, sql string, bound map[string]string, visit func([]any)) error {
	limits := read.DefaultLimits()
	limits.Rows = 0
	rows, err := read.Of(l).Query(ctx, sql, bound, limits)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		visit(rows.Values())
	}
	return rows.Err()
}

// settle gives each shard what it lacks and another has, and each stray to the shard of its session.
// Of a session without events the first shard with a stray gets all.
func settle(ctx context.Context, shards *cluster.Ledgers, list []lack) error {
	var asked []reference
	owner := make(map[string]int) // of a session with strays
	for i, of := range list {
		asked = append(asked, of.references...)
		for _, s := range of.strays {
			if _, there := owner[s.Session]; !there {
				owner[s.Session] = i
			}
		}
	}
	sessions := slices.Sorted(maps.Keys(owner))
	known := make([]map[reference]bool, len(list))
	here := make([][]string, len(list))
	err := shards.Each(func(at int, l *ledger.Ledger) (err error) {
		if known[at], err = knownOf(ctx, l, asked); err == nil {
			here[at], err = sessionsOf(ctx, l, sessions)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, of := range here {
		for _, session := range of {
			owner[session] = i
		}
	}
	given := make([][]stray, len(list))
	for i := range list {
		list[i].references = slices.DeleteFunc(list[i].references, func(r reference) bool {
			return !slices.ContainsFunc(known, func(by map[reference]bool) bool { return by[r] })
		})
		for _, s := range list[i].strays {
			if to := owner[s.Session]; to != i {
				given[to] = append(given[to], s)
				list[i].moved = append(list[i].moved, s.Session)
			}
		}
	}
	for i := range list {
		list[i].strays = given[i]
	}
	return nil
}

// knownOf returns those of the references that a shard has.
func knownOf(ctx context.Context, l *ledger.Ledger, asked []reference) (map[reference]bool, error) {
	if len(asked) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	known := make(map[reference]bool)
	for row := range l.SQL(files).Rows(ctx, "known", chsql.Params{"asked": chsql.Text(string(text))}) {
		var r reference
		if err := row.Scan(&r.Kind, &r.Tenant, &r.ID); err != nil {
			return nil, fmt.Errorf("look for what other shards name: %w", err)
		}
		known[r] = true
	}
	return known, nil
}

// sessionsOf returns the sessions that have events on a shard.
func sessionsOf(ctx context.Context, l *ledger.Ledger, sessions []string) (here []string, err error) {
	for part := range slices.Chunk(sessions, chsql.MostValues) {
		for row := range l.SQL(files).Rows(ctx, "sessions_here", chsql.Params{"sessions": chsql.Texts(part)}) {
			var session string
			if err := row.Scan(&session); err != nil {
				return nil, fmt.Errorf("look for sessions of refused events: %w", err)
			}
			here = append(here, session)
		}
	}
	return here, nil
}

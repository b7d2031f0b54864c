package migrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// OwnTable is the table that each replica of a shard has for itself. It has the digests of views, and each
// server has views of its own.
const OwnTable = "definitions"

// tokenMemory bounds the time for which Keeper remembers the tokens of inserts. A plain table has no such
// bound, so this one is much longer than a projector needs to write a batch again.
const tokenMemory = "604800" // seconds

var (
	engineClause  = regexp.MustCompile(`(?m)^ENGINE = (\w*MergeTree)(?:\((.*)\))?$`)
	tableSettings = regexp.MustCompile(`(?m)^SETTINGS$`)
	tableComment  = regexp.MustCompile(`(?m)^COMMENT .*$`)
	windowSetting = regexp.MustCompile(`\n\s*non_replicated_deduplication_window = (\d+),`)
)

// Replicated returns the statement that makes a table on each replica of a shard, from the statement that
// makes it on one server. path is the place in Keeper that the replicas share. The servers replace the
// macros {shard} in the path and {replica} by their own. The replicas remember the tokens of as many inserts
// as the plain table; where that remembers none, equal rows that were removed can be inserted again.
func Replicated(create, path string) (string, error) {
	engine := engineClause.FindAllStringSubmatch(create, -1)
	if len(engine) != 1 || strings.HasPrefix(engine[0][1], "Replicated") {
		return "", errors.New("want one line ENGINE = …MergeTree")
	}
	arguments := literal(path) + ", '{replica}'"
	if own := engine[0][2]; own != "" {
		arguments += ", " + own
	}
	window := "0"
	if m := windowSetting.FindStringSubmatch(create); m != nil {
		window = m[1]
	}
	settings := "SETTINGS\n    replicated_deduplication_window = " + window + ",\n    replicated_deduplication_window_seconds = " + tokenMemory
	made := strings.Replace(create, engine[0][0], "ENGINE = Replicated"+engine[0][1]+"("+arguments+")", 1)
	made = windowSetting.ReplaceAllLiteralString(made, "")
	switch comment := tableComment.FindString(made); {
	case tableSettings.MatchString(made):
		made = tableSettings.ReplaceAllLiteralString(made, settings+",")
	case comment != "":
		made = strings.Replace(made, comment, settings+"\n"+comment, 1)
	default:
		made += "\n" + settings
	}
	if strings.Count(made, "deduplication_window") != 2 {
		return "", errors.New("want non_replicated_deduplication_window on a line of its own that is not the last, after a line SETTINGS")
	}
	return made, nil
}

// KeeperPath returns the place of a table in Keeper. The name of the cluster keeps clusters apart that have
// one Keeper. The name of the table is written out, so that no later name of it changes the place.
func KeeperPath(cluster, database, table string) string {
	return "/ctxledger/" + cluster + "/" + database + "/{shard}/" + table
}

// UpReplicas is [Up] for the replicas of one shard. Each replica gets all tables, which share their rows, and
// the views. One replica alters tables, and the numbers of changes are rows that all share. Its connection
// must wait for the others (alter_sync and mutations_sync 2), and tables of other engines must not be there.
//
// A replica that is new gets what the others have. Like Up it may be repeated, also after an interruption.
func UpReplicas(ctx context.Context, cluster string, conns ...driver.Conn) ([]string, error) {
	return upReplicas(ctx, cluster, current(), conns)
}

func upReplicas(ctx context.Context, cluster string, r *release, conns []driver.Conn) (applied []string, err error) {
	var all []*database
	recorded := make(map[uint32]bool)
	fresh := true
	for _, conn := range conns {
		d, err := look(ctx, conn)
		if err == nil {
			err = r.refuse(d)
		}
		if err != nil {
			return nil, err
		}
		for _, version := range d.recorded {
			recorded[version] = true
		}
		fresh = fresh && d.fresh()
		all = append(all, d)
	}
	var plans []plan
	for _, d := range all {
		d.recorded = slices.Sorted(maps.Keys(recorded)) // a new replica has no rows yet
		p := r.planFor(d)
		p.fresh = fresh
		for i, t := range p.tables {
			if t.name == OwnTable {
				continue
			}
			if p.tables[i].statement, err = Replicated(t.statement, KeeperPath(cluster, d.name, t.name)); err != nil {
				return nil, fmt.Errorf("table %s: %w", t.name, err)
			}
		}
		plans = append(plans, p)
	}
	for i, d := range all {
		if err := plans[i].createTables(ctx, d); err != nil {
			return nil, err
		}
	}
	if applied, err = plans[0].change(ctx, all[0]); err != nil {
		return applied, err
	}
	for i, d := range all {
		made, err := plans[i].makeViews(ctx, d)
		if err != nil {
			return applied, err
		}
		if i == 0 {
			applied = append(applied, made...)
		}
		if err := d.setComments(ctx, r.views); err != nil {
			return applied, err
		}
	}
	return applied, nil
}

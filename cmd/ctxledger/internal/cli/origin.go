package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// Origin is where a setting comes from. The zero value is a flag.
type Origin struct {
	Variable string // the environment variable that holds the value or names File
	File     string // holds the value
	Settings string // the settings file
}

// String is the origin for people.
func (o Origin) String() string {
	switch {
	case o.File != "":
		return fmt.Sprintf("the file %s, which %s names", ui.Safe(o.File), o.Variable)
	case o.Variable != "":
		return "the variable " + o.Variable
	case o.Settings != "":
		return "the settings file " + ui.Safe(o.Settings)
	}
	return "a flag"
}

// NATSOrigin is the source of the NATS address: a flag, a variable, a file or the instance.
func (g *GlobalFlags) NATSOrigin() Origin { return g.origins["nats"] }

// ClickHouseOrigin is the source of the ClickHouse address.
func (g *GlobalFlags) ClickHouseOrigin() Origin { return g.origins["clickhouse"] }

// NATSContext is the context of the nats command line that was named, if any.
func (g *GlobalFlags) NATSContext() (name string, from Origin) {
	return g.natsContext, g.origins["nats-context"]
}

// leaveOutOwnFiles drops an address that comes from the data folder's own files for clients, as
// `ctxledger connect env` sets it. This address names the instance on the folder. Commands find
// the instance by the folder, with all its rights, and `up` starts it.
func (g *GlobalFlags) leaveOutOwnFiles() {
	files := embedded.ClientFilesOf(g.Data)
	for _, own := range []struct {
		flag, path string
		value      *string
	}{{"nats", files.NATSURL, &g.NATS}, {"clickhouse", files.ReaderDSN, &g.ClickHouse}} {
		if sameFile(g.origins[own.flag].File, own.path) {
			*own.value = ""
			delete(g.origins, own.flag)
		}
	}
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// HoldsSecret reports whether one of the addresses, which have commas between, holds a password
// or a token. An unreadable address counts as an address with a password.
func HoldsSecret(addresses string) bool {
	for address := range strings.SplitSeq(addresses, ",") {
		if u, err := ParseAddress(address); err != nil || holdsSecret(u) {
			return true
		}
	}
	return false
}

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const module = "github.com/ctxledger/ctxledger"

// families of modules that the table of imports speaks of.
var families = map[string][]string{
	"nats":        {"github.com/nats-io/nats.go", "github.com/synadia-io/orbit.go", "github.com/nats-io/jsm.go"},
	"nats-server": {"github.com/nats-io/nats-server"},
	"clickhouse":  {"github.com/ClickHouse"},
	"purego":      {"github.com/ebitengine/purego"},
	"cloudevents": {"github.com/cloudevents"},
	"tokenizer":   {"github.com/tiktoken-go"},
	"cobra":       {"github.com/spf13/cobra", "github.com/spf13/pflag"},
	"bbolt":       {"go.etcd.io/bbolt"},
	"prometheus":  {"github.com/prometheus"},
	"gitleaks":    {"github.com/zricethezav/gitleaks", "github.com/spf13/viper"},
}

// A room is a package of the house with everything below it, and what may be
// imported there: rooms by their path in the module, families by name. Other
// third-party modules are free, except in a room that says stdlibOnly.
type room struct {
	path       string
	may        []string
	not        []string // rooms below those of may that it may not import
	tests      []string // rooms that its tests may import beside
	stdlibOnly bool
}

// house is the design's table. The first room whose path fits holds.
var house = []room{
	{path: "ledger/migrate", may: []string{"ledger/internal/chsql", "clickhouse"}},
	{path: "ledger/internal/chsql", may: []string{"clickhouse"}},
	{path: "ledger/internal/column", may: []string{"schema", "clickhouse"}},
	{path: "ledger/internal/row", may: []string{"schema"}},
	{path: "ledger/internal/ledgertest", may: []string{"schema", "ledger", "deploy/embedded", "clickhouse"}},
	{path: "ledger/read", may: []string{"schema", "queries", "ledger", "clickhouse"}, not: []string{"ledger/migrate", "ledger/privacy", "ledger/translog", "ledger/shadow", "ledger/evidence", "ledger/internal/ledgertest"}, tests: []string{"ledger/shadow", "ledger/migrate", "ledger/internal/ledgertest"}},
	{path: "ledger/translog", may: []string{"schema", "ledger", "clickhouse"}, not: []string{"ledger/migrate", "ledger/read", "ledger/privacy", "ledger/shadow", "ledger/evidence", "ledger/internal/ledgertest"}},
	{path: "ledger/privacy", may: []string{"schema", "ledger", "clickhouse"}, not: []string{"ledger/migrate", "ledger/translog", "ledger/shadow", "ledger/evidence", "ledger/internal/ledgertest"}, tests: []string{"ledger/internal/ledgertest"}},
	{path: "ledger/shadow", may: []string{"schema", "ledger", "clickhouse"}, not: []string{"ledger/read", "ledger/privacy", "ledger/evidence", "ledger/internal/ledgertest"}, tests: []string{"ledger/internal/ledgertest"}},
	{path: "ledger/cluster/answer", may: []string{"schema", "queries", "ledger", "clickhouse"}, not: []string{"ledger/privacy", "ledger/shadow", "ledger/evidence", "ledger/internal/ledgertest"}},
	{path: "ledger/cluster", may: []string{"ledger", "clickhouse"}, not: []string{"ledger/read", "ledger/privacy", "ledger/evidence", "ledger/internal/ledgertest"}},
	{path: "ledger/archive", may: []string{"ledger", "clickhouse"}, not: []string{"ledger/read", "ledger/privacy", "ledger/evidence", "ledger/internal/ledgertest"}},
	{path: "ledger/proof", may: []string{"schema"}},
	{path: "ledger/evidence/internal"},
	{path: "ledger/evidence/document", may: []string{"schema", "ledger/evidence/pack", "ledger/evidence/internal"}},
	{path: "ledger/evidence/pack", may: []string{"schema"}},
	{path: "ledger/evidence/verify", may: []string{"schema", "ledger/proof", "ledger/evidence/document", "ledger/evidence/pack", "ledger/evidence/internal"}},
	{path: "schema/standard", may: []string{"schema"}},
	{path: "schema/fingerprint", may: []string{"schema"}},
	{path: "schema/canonical"},
	{path: "schema/telling", stdlibOnly: true},
	{path: "schema", may: []string{"cloudevents"}},
	{path: "producer/grant", may: []string{"schema"}},
	{path: "producer/window", may: []string{"schema", "tokenizer"}},
	{path: "producer/redact", may: []string{"schema"}},
	{path: "producer/secrets", may: []string{"schema", "producer/redact", "gitleaks"}},
	{path: "producer/title", may: []string{"producer/redact"}, tests: []string{"producer/secrets"}},
	{path: "producer/outbox", may: []string{"schema", "bbolt"}},
	{path: "producer/importer/internal/completion", may: []string{"schema", "producer/importer/model", "producer/importer/internal/jsonscan"}},
	{path: "producer/importer/internal"},
	{path: "producer/importer/model", may: []string{"schema", "producer/title", "producer/importer/internal"}},
	{path: "producer/importer/known", may: []string{"schema", "producer/importer/model"}},
	{path: "producer/importer/follow", may: []string{"producer/importer"}},
	{path: "producer/importer/claudebodies", may: []string{"schema", "producer/capture/dialect", "producer/capture/observe", "producer/importer/model", "producer/importer/internal"}},
	{path: "producer/importer/claudecode", may: []string{"schema", "producer/capture/dialect", "producer/importer/model", "producer/importer/internal"}},
	{path: "producer/importer/codex", may: []string{"schema", "producer/importer/model", "producer/importer/internal"}},
	{path: "producer/importer/openhands", may: []string{"schema", "producer/importer/model", "producer/importer/internal"}},
	{path: "producer/importer/sweagent", may: []string{"schema", "producer/importer/model", "producer/importer/internal"}},
	{path: "producer/importer", may: []string{"schema"}, tests: []string{"producer/redact", "producer/title", "producer/capture/dialect", "producer/producertest/modelserver", "producer/producertest/realclient"}},
	{path: "producer/capture/dialect", may: []string{"schema"}, tests: []string{"producer/producertest/modelserver", "producer/producertest/realclient"}},
	{path: "producer/capture/frame"},
	{path: "producer/capture/observe", may: []string{"schema", "producer/title", "producer/capture/dialect"}, tests: []string{"producer/redact"}},
	{path: "producer/capture/proxy", may: []string{"producer/capture"}, tests: []string{"schema", "producer", "deploy/embedded"}},
	{path: "producer/capture", may: []string{"schema", "producer"}, not: []string{"producer/importer", "producer/outbox", "producer/secrets"}, tests: []string{"producer/secrets"}},
	{path: "producer/internal/bustest", may: []string{"schema", "nats", "deploy/embedded"}},
	{path: "producer/producertest/latency"},
	{path: "producer/producertest/modelserver"},
	{path: "producer/producertest/realclient", tests: []string{"producer/producertest/modelserver"}},
	{path: "producer/internal/facts", may: []string{"schema", "producer/window"}},
	{path: "producer/gateway", may: []string{"schema", "producer/publish", "nats"}, tests: []string{"producer", "producer/internal/bustest", "deploy/embedded"}},
	{path: "producer/publish", may: []string{"schema", "nats"}, tests: []string{"producer/internal/bustest"}},
	{path: "producer/sdk", may: []string{"schema", "producer/sdk"}, tests: []string{"producer", "nats", "producer/internal/bustest", "producer/capture", "producer/producertest", "deploy/embedded"}},
	{path: "producer", may: []string{"schema", "producer", "nats", "tokenizer"}},
	{path: "projector/lease", may: []string{"ledger", "nats"}},
	{path: "projector/streamio", may: []string{"schema", "ledger", "projector/lease", "nats"}},
	{path: "projector/decode", may: []string{"schema", "ledger", "projector/streamio"}, tests: []string{"projector/internal/projectortest"}},
	{path: "projector/leak", may: []string{"schema", "ledger", "projector/decode", "projector/streamio"}, tests: []string{"projector/internal/projectortest"}},
	{path: "projector/shardmap", may: []string{"schema", "ledger", "projector/lease", "projector/streamio", "nats"}},
	{path: "projector/quarantine", may: []string{"schema", "ledger", "projector/decode", "projector/streamio", "nats"}},
	{path: "projector/metrics", may: []string{"schema", "ledger", "projector/decode", "projector/streamio", "nats", "prometheus"}},
	{path: "projector/signing", may: []string{"schema", "ledger", "projector/streamio", "projector/metrics", "nats"}},
	{path: "projector/rebuild", may: []string{"schema", "ledger", "projector/lease", "projector/streamio", "projector/shardmap", "projector/decode", "projector/quarantine", "projector/internal/steps", "nats"}},
	{path: "projector/retention", may: []string{"schema", "ledger", "projector/lease", "projector/streamio", "projector/shardmap", "projector/texts", "projector/decode", "projector/metrics", "projector/internal/steps", "nats"}},
	{path: "projector/texts", may: []string{"schema", "ledger", "projector/streamio", "projector/shardmap", "nats"}},
	{path: "projector/erasure", may: []string{"schema", "ledger", "projector/streamio", "projector/shardmap", "projector/texts", "projector/decode", "projector/leak", "projector/retention", "projector/quarantine", "projector/internal", "nats"}},
	{path: "projector/backup/objects", may: []string{"projector/backup"}},
	{path: "projector/backup", may: []string{"schema", "ledger", "projector/lease", "projector/streamio", "projector/shardmap", "projector/retention", "projector/metrics", "projector/signing", "projector/rebuild", "projector/erasure", "projector/internal/steps", "nats", "nats-server"}},
	{path: "projector/revocation", may: []string{"schema", "ledger", "projector/streamio", "projector/shardmap", "nats"}},
	{path: "projector/recheck", may: []string{"schema", "ledger", "projector/leak"}},
	{path: "projector/internal", may: []string{"schema", "ledger", "projector/streamio"}},
	{path: "projector/identity", stdlibOnly: true},
	{path: "projector/hole", may: []string{"schema", "projector/decode"}, tests: []string{"ledger", "projector/streamio", "projector/internal/projectortest"}},
	{path: "projector", may: []string{"schema", "ledger", "nats", "prometheus"}},
	{path: "ledger", may: []string{"schema", "queries", "ledger", "clickhouse"}},
	{path: "queries", stdlibOnly: true},
	{path: "deploy/examples", may: []string{"schema", "projector", "ledger", "deploy/embedded", "nats"}},
	{path: "deploy/embedded/embeddedtest", may: []string{"deploy/embedded", "nats", "nats-server", "clickhouse"}},
	{path: "deploy/embedded/internal/confine"},
	{path: "deploy/embedded", may: []string{"deploy", "nats-server", "purego", "clickhouse"}},
	{path: "deploy", tests: []string{"schema", "producer", "projector", "ledger", "queries"}},
	{path: "cmd/ctxledger", may: []string{"schema", "producer", "projector", "ledger", "queries", "deploy", "cmd/ctxledger", "nats", "clickhouse", "nats-server", "tokenizer", "cobra", "cloudevents", "prometheus"}},
}

// goPackage is what `go list -json` says of a package.
type goPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	dec := jsontext.NewDecoder(strings.NewReader(string(out)))
	for dec.PeekKind() == '{' {
		var p goPackage
		if err := json.UnmarshalDecode(dec, &p); err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	return packages
}

func within(path, room string) bool { return path == room || strings.HasPrefix(path, room+"/") }

func roomOf(path string) (room, bool) {
	i := slices.IndexFunc(house, func(r room) bool { return within(path, r.path) })
	if i < 0 {
		return room{}, false
	}
	return house[i], true
}

// allowed reports whether a package of r may import path.
func (r room) allowed(path string) bool {
	if own, ok := strings.CutPrefix(path, module+"/"); ok {
		in := func(m string) bool { return within(own, m) }
		return within(own, r.path) || slices.ContainsFunc(r.may, in) && !slices.ContainsFunc(r.not, in)
	}
	if !strings.Contains(strings.Split(path, "/")[0], ".") {
		return true
	}
	for family, modules := range families {
		if slices.ContainsFunc(modules, func(m string) bool { return within(path, m) }) {
			return slices.Contains(r.may, family)
		}
	}
	return !r.stdlibOnly
}

func TestImportsFollowTheTable(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		path := strings.TrimPrefix(p.ImportPath, module+"/")
		r, ok := roomOf(path)
		if !ok {
			t.Errorf("package %s has no room in the house", path)
			continue
		}
		for _, imported := range p.Imports {
			if !r.allowed(imported) {
				t.Errorf("%s imports %s, which %s may not", path, imported, r.path)
			}
		}
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			if !r.allowed(imported) && !within(imported, module+"/deploy/embedded") && !allowedInTests(r, imported) {
				t.Errorf("tests of %s import %s, which %s may not", path, imported, r.path)
			}
		}
	}
}

// allowedInTests lets tests use any third-party module, but no room that neither
// the code itself nor its tests may.
func allowedInTests(r room, imported string) bool {
	if own, ok := strings.CutPrefix(imported, module+"/"); ok {
		return slices.ContainsFunc(r.tests, func(m string) bool { return within(own, m) })
	}
	return !r.stdlibOnly
}

// TestTheCoreIsLight: what is heavy is a package of its own, which a runtime
// opts into.
func TestTheCoreIsLight(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", module+"/producer").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for _, family := range []string{"bbolt", "gitleaks", "clickhouse"} {
		for _, path := range strings.Fields(string(out)) {
			if slices.ContainsFunc(families[family], func(m string) bool { return within(path, m) }) {
				t.Errorf("producer brings %s", path)
			}
		}
	}
}

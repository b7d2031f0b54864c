package document_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// header returns the header of the golden turn.
func header() pack.Header {
	return pack.Header{
		ID: "pack-1", Created: time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC), Exporter: "ctxledger test", Logs: []string{"ctxledger/CTX/1"},
		Scope: pack.Scope{Kind: pack.ScopeSession, Tenant: "acme", Session: "sess-7f3a"},
	}
}

// golden returns one event of every type, in sequence order.
func golden(t testing.TB) []*pack.Record {
	t.Helper()
	var list []*pack.Record
	for _, kind := range schema.Types() {
		list = append(list, record(parse(t, schema.Golden(kind))))
	}
	slices.SortStableFunc(list, func(a, b *pack.Record) int { return int(*a.Event.Sequence - *b.Event.Sequence) })
	for i, r := range list {
		r.LogIndex, r.StreamSeq = int64(10+2*i), uint64(100+3*i)
	}
	return list
}

func record(e *schema.Event) *pack.Record { return &pack.Record{Event: e} }

func parse(t testing.TB, structured []byte) *schema.Event {
	t.Helper()
	e, err := schema.ParseStructured(structured)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// event makes an event from a fact in the golden session.
func event(t testing.TB, n int64, fact schema.Fact, ids schema.Correlation) *pack.Record {
	t.Helper()
	ids.Tenant, ids.SessionID = "acme", "sess-7f3a"
	e, err := schema.NewEvent(fact, fmt.Sprintf("e%d", n), "urn:test", time.Date(2026, 3, 2, 9, 0, int(n), 0, time.UTC), ids)
	if err != nil {
		t.Fatal(err)
	}
	if _, found := schema.Validate(e); len(found) > 0 {
		t.Fatal(found)
	}
	return &pack.Record{LogIndex: n, StreamSeq: uint64(n), Event: e}
}

// derive makes the files of a pack, including the manifest.
func derive(t testing.TB, h pack.Header, records []*pack.Record) (fstest.MapFS, document.Summary) {
	t.Helper()
	made := make(map[document.Part]*bytes.Buffer)
	b, err := document.New(h, func(p document.Part) io.Writer {
		made[p] = new(bytes.Buffer)
		return made[p]
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := b.Add(0, r); err != nil {
			t.Fatal(err)
		}
	}
	summary, err := b.Close()
	if err != nil {
		t.Fatal(err)
	}
	files := make(fstest.MapFS)
	var listed []pack.File
	for _, p := range document.Parts() {
		if files[p.File] == nil {
			files[p.File] = &fstest.MapFile{}
		}
		files[p.File].Data = append(files[p.File].Data, made[p].Bytes()...)
	}
	for path, f := range files {
		listed = append(listed, pack.File{Path: path, Size: int64(len(f.Data)), Hash: pack.HashPrefix + strings.Repeat("0", 64)})
	}
	files[pack.ManifestFile] = &fstest.MapFile{Data: document.Manifest(h, summary, listed)}
	return files, summary
}

// schemas holds the public schemas by id.
var schemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	found := make(map[string]*jsonschema.Schema)
	for _, standard := range []string{"agentcontext", "agentevidence"} {
		names, err := filepath.Glob(filepath.Join(os.Getenv("CTXLEDGER_SHARED"), "standards", standard, "*.schema.json"))
		if err != nil || len(names) == 0 {
			return nil, fmt.Errorf("no schemas of %s: %v", standard, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			if err != nil {
				return nil, err
			}
			id := value.(map[string]any)["$id"].(string)
			if err := compiler.AddResource(id, value); err != nil {
				return nil, err
			}
			found[id] = nil
		}
	}
	for id := range found {
		compiled, err := compiler.Compile(id)
		if err != nil {
			return nil, err
		}
		found[id] = compiled
	}
	return found, nil
})

func needSchemas(t testing.TB) map[string]*jsonschema.Schema {
	t.Helper()
	if os.Getenv("CTXLEDGER_SHARED") == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CTXLEDGER_SHARED is unset: the standards are needed in CI")
		}
		t.Skip("CTXLEDGER_SHARED is unset: no standards")
	}
	all, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// valid checks every file against its schema. It returns the number of documents in each file.
func valid(t testing.TB, files fstest.MapFS) map[string]int {
	t.Helper()
	all := needSchemas(t)
	counts := make(map[string]int)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		id, elements := document.Schema(path)
		if id == "" {
			continue
		}
		if all[id] == nil {
			t.Fatalf("%s: no schema %s", path, id)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(files[path].Data))
		if err != nil {
			t.Fatalf("%s: %v\n%s", path, err, files[path].Data)
		}
		list := []any{value}
		if elements {
			list = value.([]any)
		}
		for _, one := range list {
			if err := all[id].Validate(one); err != nil {
				t.Errorf("%s: %v\n%v", path, err, one)
			}
		}
		counts[path] = len(list)
	}
	return counts
}

// read decodes a file.
func read[T any](t testing.TB, files fstest.MapFS, path string) (v T) {
	t.Helper()
	if err := json.Unmarshal(files[path].Data, &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// The members of the documents that the tests read.
type (
	sourceMap struct {
		Sources []struct {
			ID   string `json:"source_id"`
			Kind string `json:"source_kind"`
			Ref  string `json:"ref"`
			URI  string `json:"uri"`
			Text string `json:"snippet"`
		} `json:"sources"`
		Omissions []struct {
			Source        string `json:"source_id"`
			Reason        string `json:"reason"`
			ContextReason string `json:"context_reason"`
			Decision      string `json:"decision_ref"`
		} `json:"omissions"`
	}
	provenance struct {
		Nodes []struct {
			ID       string `json:"node_id"`
			Type     string `json:"type"`
			Activity string `json:"activity_type"`
			Content  string `json:"content"`
		} `json:"nodes"`
		Edges []struct {
			ID           string `json:"edge_id"`
			From         string `json:"from"`
			To           string `json:"to"`
			Relationship string `json:"relationship"`
		} `json:"edges"`
	}
	packDocument struct {
		Scope      map[string]string `json:"scope"`
		Status     string            `json:"status"`
		Redactions []struct {
			Reason    string `json:"reason"`
			Redaction string `json:"redaction_id"`
			Target    string `json:"target_ref"`
			Kind      string `json:"redaction_kind"`
			AppliedBy string `json:"applied_by"`
		} `json:"redactions"`
		Completeness map[string]struct {
			Status  string `json:"status"`
			Missing []struct {
				Fact   string `json:"fact"`
				Reason string `json:"reason"`
			} `json:"missing_facts"`
		} `json:"completeness"`
	}
	replay struct {
		Inputs []struct {
			ID string `json:"ref_id"`
		} `json:"input_refs"`
		Snapshots []struct {
			ID string `json:"ref_id"`
		} `json:"snapshot_refs"`
	}
)

// closed fails for every reference without a target.
func closed(t testing.TB, files fstest.MapFS) {
	t.Helper()
	s, p, d, r := read[sourceMap](t, files, pack.SourceMapFile), read[provenance](t, files, pack.ProvenanceFile), read[packDocument](t, files, pack.PackFile), read[replay](t, files, pack.ReplayFile)
	nodes, sources, edges := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, n := range p.Nodes {
		if nodes[n.ID] {
			t.Errorf("node %s twice", n.ID)
		}
		nodes[n.ID] = true
	}
	for _, one := range s.Sources {
		if sources[one.ID] || !nodes[one.ID] {
			t.Errorf("source %s twice, or without a node", one.ID)
		}
		sources[one.ID] = true
	}
	for _, e := range p.Edges {
		if edges[e.ID] || !nodes[e.From] || !nodes[e.To] {
			t.Errorf("edge %+v twice, or to nowhere", e)
		}
		edges[e.ID] = true
	}
	for _, o := range s.Omissions {
		if !sources[o.Source] || !sources[o.Decision] {
			t.Errorf("omission %+v to nowhere", o)
		}
	}
	for _, one := range d.Redactions {
		if !nodes[one.Target] && one.Target != "pack-1" {
			t.Errorf("redaction %+v of nothing", one)
		}
	}
	for _, ref := range slices.Concat(r.Inputs, r.Snapshots) {
		if !sources[ref.ID] {
			t.Errorf("replay of %s, which is no source", ref.ID)
		}
	}
}

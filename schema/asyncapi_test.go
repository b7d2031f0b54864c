package schema

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema/internal/schematest"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// aboutAttribute describes each attribute other than the correlation ids.
var aboutAttribute = map[string]string{
	"specversion": "1.0", "id": "unique per source; UUIDv7 by default", "source": "URI-reference of the producer", "type": "dev.ctxledger.<event_type>.v1",
	"subject": "id of the record that the fact is about", "time": "when the fact happened: RFC 3339 with up to nanoseconds", "datacontenttype": "application/json",
	"dataschema": "urn:ctxledger:schema:<event_type>:v1", "sequence": "decimal number, zero-padded; contiguous per source and session", "partitionkey": "the session",
	"correlationid": "id that related events share", "causationid": "id of the cause of the event", "recordedtime": "when a relay accepted the event, RFC 3339",
	"traceparent": "W3C trace context", "tracestate": "W3C trace state", "dataclassification": "privacy class of the data, set by the producer",
}

// asyncDocument generates the AsyncAPI document.
func asyncDocument(t testing.TB) []byte {
	t.Helper()
	channels, operations, messages, schemas := object{}, object{}, object{}, object{}
	for _, kind := range Types() {
		name := string(kind)
		object_, verb := kind.ObjectVerb()
		schemas[name] = asyncSchema(t, kind, schemas)
		messages[name] = binaryMessage(t, kind)
		messages[name+".structured"] = structuredMessage(kind)
		ref := func(message string) object { return object{"$ref": "#/components/messages/" + message} }
		channels[name] = object{
			"address":     strings.Join([]string{"ctx.v1", "{tenant}", "{runtime}", "{bucket}", object_, verb}, "."),
			"title":       name,
			"description": schemas[name].(object)["description"],
			"parameters":  object{"tenant": object{"$ref": "#/components/parameters/tenant"}, "runtime": object{"$ref": "#/components/parameters/runtime"}, "bucket": object{"$ref": "#/components/parameters/bucket"}},
			"messages":    object{"binary": ref(name), "structured": ref(name + ".structured")},
			"x-stream":    "CTX",
		}
		operations["record."+name] = receives(name, "The ledger accepts a "+name+".")
	}
	refused := object{"contentType": "application/octet-stream", "title": "a refused message", "description": "The original bytes and headers, with withheld values masked. Further headers give the reason and the place.", "payload": object{}}
	head := object{"contentType": "text/plain", "title": "a signed tree head of the transparency log", "payload": object{"type": "string", "description": "A signed note (C2SP)."}}
	channels["quarantine"] = object{
		"address": "ctx.quarantine.{code}", "title": "quarantine", "description": "Messages that the contract refuses, with one subject per code.", "x-stream": "CTX_QUARANTINE",
		"parameters": object{"code": object{"description": "The code of the first violation, such as runtime_status."}}, "messages": object{"refused": refused},
	}
	channels["checkpoints"] = object{
		"address": "ctx.checkpoints.{log}", "title": "checkpoints", "description": "Signed tree heads of the transparency log.", "x-stream": "CTX_CHECKPOINTS",
		"parameters": object{"log": object{"description": "The name of the transparency log."}}, "messages": object{"head": head},
	}
	notice := object{"contentType": "application/json", "title": "a notice", "payload": object{"type": "object", "description": "Place, time, source and id of the message; code and field of its refusal, and what to do. It has no value of the event."}}
	channels["notices"] = object{
		"address": "ctxnotice.v1.{tenant}.{bucket}.quarantined", "title": "notices", "description": "Notices to the publishers of messages that the projector quarantined. Only the projector publishes them.", "x-stream": "CTX_NOTICES",
		"parameters": object{"tenant": object{"$ref": "#/components/parameters/tenant"}, "bucket": object{"description": "p00 to pff: the bucket of the event's source."}}, "messages": object{"quarantined": notice},
	}
	operations["notice"] = sends("notices", "The ledger tells a publisher that its message was quarantined.")
	operations["quarantine"] = sends("quarantine", "The ledger keeps the messages that the projector refuses.")
	operations["checkpoint"] = sends("checkpoints", "The ledger publishes a signed tree head.")
	document := object{
		"asyncapi": "3.0.0",
		"info": object{
			"title": "ctxledger", "version": "1.0.0", "license": object{"name": "Apache-2.0"},
			"description": "Context facts of agents are CloudEvents 1.0 over NATS JetStream. They use the CloudEvents NATS protocol binding in binary or structured mode. Subjects contain tenant and runtime. Every byte other than letters, digits, - and _ is escaped as %XX.",
		},
		"defaultContentType": jsonType,
		"servers":            object{"nats": object{"host": "localhost:4222", "protocol": "nats", "description": "NATS with JetStream enabled. The address is an example."}},
		"channels":           channels,
		"operations":         operations,
		"components":         object{"messages": messages, "schemas": schemas, "parameters": subjectParameters()},
		"x-streams":          asyncStreams(),
	}
	schemas["Headers"] = headerSchema()
	text, err := json.Marshal(document, json.Deterministic(true), jsontext.WithIndent(" "))
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

func receives(channel, summary string) object {
	return object{"action": "receive", "channel": object{"$ref": "#/channels/" + channel}, "summary": summary}
}

func sends(channel, summary string) object {
	o := receives(channel, summary)
	o["action"] = "send"
	return o
}

func subjectParameters() object {
	return object{
		"tenant":  object{"description": "The tenant, escaped; " + DefaultTenant + " if the event names no tenant.", "default": DefaultTenant, "examples": []string{"acme"}},
		"runtime": object{"description": "The runtime, escaped; " + DefaultRuntime + " if the event names no runtime.", "default": DefaultRuntime, "examples": []string{"bench-1"}},
		"bucket":  object{"description": "p00 to pff: FNV-1a 32 of the session id, its four bytes xored. The events may be in several streams: CTX_0, CTX_1 and so on. Each stream has an equal share of the buckets, in order. The stream metadata " + PartitionsKey + " is the number of streams. A tenant may have streams of its own, CTX-acme or CTX_0-acme, CTX_1-acme and so on, with a number of their own.", "examples": []string{Bucket("sess-7f3a")}},
	}
}

func asyncStreams() object {
	list := object{}
	for _, s := range Streams() {
		o := object{"subjects": s.Subjects, "description": s.Description, "retention": "limits", "allow_atomic": s.AtomicPublish, "discard": "old"}
		if s.DiscardNew {
			o["discard"] = "new"
		}
		if s.MaxAge > 0 {
			o["max_age_seconds"], o["max_messages"], o["max_messages_per_subject"] = int(s.MaxAge.Seconds()), s.MaxMessages, s.MaxPerSubject
		}
		if s.Duplicates > 0 {
			o["duplicate_window_seconds"] = int(s.Duplicates.Seconds())
		}
		list[s.Name] = o
	}
	return list
}

func binaryMessage(t testing.TB, kind Type) object {
	e := goldenEvent(t, kind)
	headers := object{}
	for name, values := range e.Binary().Header {
		headers[name] = values[0]
	}
	return object{
		"name": kind.CloudEventsType(), "title": string(kind) + ", binary mode", "contentType": jsonType,
		"headers": object{"$ref": "#/components/schemas/Headers"}, "payload": object{"$ref": "#/components/schemas/" + string(kind)},
		"examples": []any{object{"name": "golden", "headers": headers, "payload": jsontext.Value(e.Data)}},
	}
}

func structuredMessage(kind Type) object {
	properties := object{"data": object{"$ref": "#/components/schemas/" + string(kind)}}
	for _, a := range attributes {
		properties[a.name] = attributeSchema(a.name)
	}
	properties["type"] = object{"const": kind.CloudEventsType()}
	return object{
		"name": kind.CloudEventsType(), "title": string(kind) + ", structured mode", "contentType": structuredJSON,
		"payload": object{"type": "object", "properties": properties, "required": []string{"specversion", "id", "source", "type", "time", "data"}},
	}
}

func headerSchema() object {
	properties := object{MsgIDHeader: object{"type": "string", "description": "Hash of source and id, for the server's duplicate window."}}
	for _, a := range attributes {
		properties[a.header] = attributeSchema(a.name)
	}
	return object{"type": "object", "description": "The attributes of the event, percent-encoded.", "properties": properties,
		"required": []string{"ce-specversion", "ce-id", "ce-source", "ce-type", "ce-time"}}
}

func attributeSchema(name string) object {
	s := object{"type": "string", "maxLength": MaxIDBytes, "description": aboutAttribute[name]}
	for _, f := range CorrelationFields {
		if f.Attribute == name {
			s["description"] = "The runtime's " + f.Column + "."
		}
	}
	if name == "specversion" {
		s["const"] = "1.0"
	}
	return s
}

// asyncSchema is the JSON Schema of a type with its definitions moved to the
// components.
func asyncSchema(t testing.TB, kind Type, schemas object) object {
	t.Helper()
	text := strings.ReplaceAll(string(JSONSchema(kind)), `"#/$defs/`, `"#/components/schemas/`)
	var s object
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	defs, _ := s["$defs"].(object)
	for name, def := range defs {
		if have := schemas[name]; have != nil && !reflect.DeepEqual(have, def) {
			t.Fatalf("two definitions of %s", name)
		}
		schemas[name] = def
	}
	for _, moved := range []string{"$defs", "$id", "$schema", "examples"} {
		delete(s, moved)
	}
	s["x-dataschema"] = kind.DataSchema()
	return s
}

func TestAsyncAPI(t *testing.T) {
	t.Parallel()
	schematest.HoldToFile(t, "asyncapi.json", string(asyncDocument(t)))
	if !reflect.DeepEqual(schematest.Instance(t, AsyncAPI()), schematest.Instance(t, asyncDocument(t))) {
		t.Error("AsyncAPI is another document")
	}
	for name, about := range attributeIndex {
		if description := attributeSchema(name)["description"]; description == "" {
			t.Errorf("attribute %s (%d) has no description", name, about)
		}
	}
	AsyncAPI()[0] = 'x'
	if AsyncAPI()[0] != '{' {
		t.Error("a caller can change the document")
	}
}

// asyncParser is the official parser, from npm.
const asyncParser = "@asyncapi/parser@3.6.3"

// TestOfficialParser checks that the official parser reads the document and refuses broken
// documents. The test needs node and npm. The first run also needs the npm registry.
func TestOfficialParser(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("installs a parser: run without -short")
	}
	npm := parserDir(t)
	script, err := filepath.Abs("testdata/asyncapi/validate.mjs")
	if err != nil {
		t.Fatal(err)
	}
	breaks := [][3]string{
		{"a channel that is not there", `"#/channels/quarantine"`, `"#/channels/nowhere"`},
		{"an action that is none", `"action": "send"`, `"action": "shout"`},
		{"a message that is not there", `"#/components/messages/context.exported"`, `"#/components/messages/nothing"`},
		{"no version", `"version": "1.0.0"`, `"versio": "1.0.0"`},
		{"a parameter that is not described", `{bucket}.item.added`, `{bucket}.{other}.added`},
		{"no object", `"channels": {`, `"channels": [`},
	}
	dir := t.TempDir()
	arguments := []string{script, npm}
	write := func(document string) {
		path := filepath.Join(dir, fmt.Sprintf("%d.json", len(arguments)))
		if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, path)
	}
	whole := string(AsyncAPI())
	write(whole)
	for _, b := range breaks {
		broken := strings.Replace(whole, b[1], b[2], 1)
		if broken == whole {
			t.Fatalf("%s: nothing was broken", b[0])
		}
		write(broken)
	}
	out, err := exec.Command("node", arguments...).CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != 1+len(breaks) {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := fmt.Sprintf("ok %d channels", len(Types())+3); !strings.HasPrefix(lines[0], want) {
		t.Errorf("got %s, want %s", lines[0], want)
	}
	for i, b := range breaks {
		if !strings.HasPrefix(lines[i+1], "refused") {
			t.Errorf("%s: %s", b[0], lines[i+1])
		}
	}
	t.Log(strings.Join(lines, "\n"))
}

// parserDir installs the parser once per machine and returns its folder. Without npm or a
// network, the test is skipped, except in CI.
func parserDir(t *testing.T) string {
	t.Helper()
	absent := func(why string) {
		if os.Getenv("CI") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			absent(tool + " is not installed")
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		absent(err.Error())
	}
	dir := filepath.Join(cache, "ctxledger", "npm", strings.NewReplacer("/", "-", "@", "").Replace(asyncParser))
	if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "installing-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(fresh)
	install := exec.Command("npm", "install", "--prefix", fresh, "--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", asyncParser)
	if out, err := install.CombinedOutput(); err != nil {
		absent(fmt.Sprintf("npm install: %v\n%s", err, out))
	}
	if err := os.WriteFile(filepath.Join(fresh, "complete"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fresh, dir); err != nil {
		if _, there := os.Stat(filepath.Join(dir, "complete")); there != nil {
			t.Fatal(err)
		}
	}
	return dir
}

package site

import (
	"cmp"
	"regexp"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/queries"
)

// route is one path of the read API. The document and the handlers come from the same table.
type route struct {
	path, summary string
	answer        endpoint
	query         string   // whose rows are the answer; empty for an object
	given         []string // parameters of an address without a query
}

var routes = []route{
	{path: "/sessions", summary: "Sessions, newest first. The header Link names the next page", query: "sessions", given: []string{"cursor"}, answer: listSessions},
	{path: "/sessions/{session}", summary: "One session", query: "sessions", answer: rowsOf("sessions")},
	{path: "/sessions/{session}/calls", summary: "The calls of a session, as the river draws them", query: "river", answer: rowsOf("river")},
	{path: "/sessions/{session}/layers", summary: "The layers of each call of a session", query: "call-layers", answer: rowsOf("call-layers")},
	{path: "/sessions/{session}/gaps", summary: "The gaps of a session", query: "gaps", answer: rowsOf("gaps")},
	{path: "/turns/{turn}/window", summary: "The window of a turn's last call, or of a call of the turn", given: []string{"tenant", "session_id", "call_id"}, answer: turnWindow},
	{path: "/calls/{call}/window", summary: "The window of a call", given: []string{"tenant", "session_id", "turn_id"}, answer: callWindow},
	{path: "/items/{item}/history", summary: "What happened to an item of a session", given: []string{"tenant", "session_id", "turn_id"}, answer: itemHistory},
	{path: "/diff", summary: "The difference of two windows of a session", given: []string{"tenant", "session_id", "before_turn", "before_call", "after_turn", "after_call"}, answer: diffOf},
	{path: "/gaps", summary: "The gaps of a session", query: "gaps", answer: rowsOf("gaps")},
	{path: "/evidence", summary: "What the standing checks find", query: "checks", answer: rowsOf("checks")},
	{path: "/queries", summary: "The catalogue of named queries", answer: listQueries},
	{path: "/queries/{name}", summary: "The rows of a named query; its parameters are those of the address", answer: queryByName},
}

// abouts explain parameters of addresses.
var abouts = map[string]string{"cursor": "the place of a page, from the header Link of the page before it"}

var inPath = regexp.MustCompile(`\{(\w+)\}`)

type object = map[string]any

// document returns the OpenAPI document of the read API.
var document = sync.OnceValue(func() []byte {
	paths := object{}
	for _, r := range routes {
		parameters := []object{}
		add := func(name, in, about string, required bool) {
			parameters = append(parameters, object{"name": name, "in": in, "required": required, "description": about, "schema": object{"type": "string"}})
		}
		var own []string
		for _, m := range inPath.FindAllStringSubmatch(r.path, -1) {
			add(m[1], "path", "the "+m[1], true)
			own = append(own, m[1]+"_id")
		}
		for _, name := range r.given {
			add(name, "query", cmp.Or(abouts[name], "the "+name), false)
		}
		schema := object{"type": []string{"object", "array"}}
		if q, err := queries.Get(r.query); err == nil {
			for _, p := range q.Parameters {
				if !slices.Contains(own, p.Name) {
					add(p.Name, "query", p.About, p.Required)
				}
			}
			add("format", "query", "json (the default) or csv", false)
			schema = rowsSchema(q)
		}
		headers := object{"ETag": object{"schema": object{"type": "string"}}}
		if slices.Contains(r.given, "cursor") {
			headers["Link"] = object{"description": "the address of the next page, with rel=\"next\"; absent on the last page", "schema": object{"type": "string"}}
		}
		paths["/api/v1"+r.path] = object{"get": object{
			"summary": r.summary, "parameters": parameters,
			"responses": object{
				"200":     object{"description": "the answer", "headers": headers, "content": object{"application/json": object{"schema": schema}}},
				"304":     object{"description": "the ETag in If-None-Match is still right"},
				"default": object{"description": "an error", "content": object{"application/problem+json": object{"schema": object{"$ref": "#/components/schemas/Problem"}}}},
			},
		}}
	}
	text, err := json.Marshal(object{
		"openapi": "3.1.0",
		"info":    object{"title": "ctxledger", "version": "1", "description": "The read API. Its answers are those of the commands with -o json."},
		"paths":   paths,
		"components": object{"schemas": object{"Problem": object{
			"type": "object", "required": []string{"type", "title", "status", "detail", "code"},
			"properties": object{
				"type": object{"type": "string"}, "title": object{"type": "string"}, "status": object{"type": "integer"}, "detail": object{"type": "string"},
				"code": object{"type": "string", "enum": problemCodes}, "near": object{"type": "array", "items": object{"type": "string"}},
			},
		}}},
	}, json.Deterministic(true), jsontext.WithIndent(" "))
	if err != nil {
		panic(err) // the document has plain values only
	}
	return text
})

// problemCodes are the codes of problems.
var problemCodes = []string{"unknown_id", "unknown_query", "unknown_path", "ambiguous_id", "other_tenant", "wrong_request", "not_migrated", "unreachable", "limit", "failed"}

// rowsSchema is the schema of the rows of a query.
func rowsSchema(q queries.Query) object {
	properties, required := object{}, []string{}
	for _, c := range q.Columns {
		properties[c.Name] = object{"description": c.About + " (" + c.Unit + ")"}
		required = append(required, c.Name)
	}
	return object{"type": "array", "items": object{"type": "object", "required": required, "properties": properties, "additionalProperties": false}}
}

package demo_test

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/pagetest"
	"github.com/ctxledger/ctxledger/queries/client"
)

// recorder remembers the requests of a client.
type recorder struct{ asked []*url.URL }

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	r.asked = append(r.asked, request.URL)
	return http.DefaultTransport.RoundTrip(request)
}

// clientFollowsDocument asks by each method of the Go client. The methods reach each path of the
// OpenAPI document, by no other parameters than the document has.
func clientFollowsDocument(t *testing.T, base, session string, paths map[string]any) {
	t.Helper()
	seen := &recorder{}
	c := &client.Client{Base: base, HTTP: &http.Client{Transport: seen}}
	ctx, in := t.Context(), url.Values{"session_id": {session}}
	check := func(rows int, err error) {
		t.Helper()
		if err != nil || rows == 0 {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
	list := func(rows []client.Row, err error) { t.Helper(); check(len(rows), err) }
	one := func(row client.Row, err error) { t.Helper(); check(len(row), err) }
	var paged []any
	for row, err := range c.Sessions(ctx, url.Values{"limit": {"1"}, "tenant": {"default"}}) {
		check(len(row), err)
		paged = append(paged, row["session_id"])
	}
	list(c.Session(ctx, session, nil))
	list(c.Calls(ctx, session, url.Values{"limit": {"10"}}))
	list(c.Layers(ctx, session, nil))
	list(c.SessionGaps(ctx, session, nil))
	list(c.Gaps(ctx, in))
	one(c.TurnWindow(ctx, "turn-3", in))
	one(c.CallWindow(ctx, "call-17", in))
	one(c.ItemHistory(ctx, "helper-1/tool-1:result", in))
	one(c.Diff(ctx, url.Values{"session_id": {session}, "before_turn": {"turn-2"}, "after_turn": {"turn-3"}}))
	list(c.Evidence(ctx, nil))
	list(c.Queries(ctx))
	list(c.Query(ctx, "turns", in))
	var problem *client.Problem
	if _, err := c.TurnWindow(ctx, "turn-33", in); !errors.As(err, &problem) || problem.Code != "unknown_id" {
		t.Errorf("an unknown turn: %v", err)
	}
	reached := make(map[string]bool)
	for _, asked := range seen.asked {
		pattern := patternOf(paths, asked)
		reached[pattern] = true
		if pattern == "" {
			t.Errorf("the document has no path for %s", asked)
			continue
		}
		var known []string
		for _, p := range paths[pattern].(map[string]any)["get"].(map[string]any)["parameters"].([]any) {
			known = append(known, p.(map[string]any)["name"].(string))
		}
		for name := range asked.Query() {
			if !slices.Contains(known, name) && !strings.HasSuffix(pattern, "/queries/{name}") {
				t.Errorf("the document has no parameter %s of %s", name, pattern)
			}
		}
	}
	for path := range paths {
		if !reached[path] {
			t.Errorf("no method of the client reaches %s", path)
		}
	}
	pagetest.EqualTheList(t, base, paged)
}

// patternOf returns the path of the document that an address has, the most specific one.
func patternOf(paths map[string]any, asked *url.URL) (best string) {
	for path := range paths {
		form := regexp.MustCompile("^" + regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$")
		if form.MatchString(asked.EscapedPath()) && (best == "" || strings.Count(path, "{") < strings.Count(best, "{")) {
			best = path
		}
	}
	return best
}

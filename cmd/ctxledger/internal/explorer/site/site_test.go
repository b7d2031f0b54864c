package site

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/access"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/source"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// get asks a site whose ledger cannot be opened because of err.
func get(t *testing.T, err error, path string) *httptest.ResponseRecorder {
	t.Helper()
	handler := New(Config{Open: func(context.Context) (*ledger.Ledger, error) { return nil, err }})
	request := httptest.NewRequestWithContext(access.As(t.Context(), access.Local), http.MethodGet, path, nil)
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

// TestErrorsArePages: each error of a ledger is a page and a problem that say what to do.
func TestErrorsArePages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err        error
		status     int
		page, code string
	}{
		{fmt.Errorf("dial: %w", ledger.ErrUnreachable), 503, `<meta http-equiv="refresh" content="2">`, "unreachable"},
		{fmt.Errorf("%w: no table", read.ErrNotMigrated), 503, "ctxledger migrate", "not_migrated"},
		{&source.UnknownError{Kind: "turn", ID: "<b>x", Near: []string{"t/1"}}, 404, `href="/t/t%2F1"`, "unknown_id"},
		{context.DeadlineExceeded, 504, "took too long", "limit"},
		{fmt.Errorf("%w: syntax", read.ErrStatement), 400, "is wrong", "wrong_request"},
		{errors.New("<script>boom</script>"), 500, "&lt;script&gt;boom", "failed"},
	} {
		page := get(t, test.err, "/")
		if page.Code != test.status || !strings.Contains(page.Body.String(), test.page) || strings.Contains(page.Body.String(), "<b>x") {
			t.Errorf("%v: the page is %d\n%s", test.err, page.Code, page.Body)
		}
		answer := get(t, test.err, "/api/v1/sessions")
		if answer.Code != test.status || !strings.Contains(answer.Body.String(), `"code":"`+test.code+`"`) || answer.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%v: the API answers %d %s", test.err, answer.Code, answer.Body)
		}
	}
	several := &source.AmbiguousError{Kind: "turn", ID: "t", Places: []source.Place{{Tenant: "a", Session: "s1"}, {Tenant: "b", Session: "s2"}}}
	if page := get(t, several, "/"); page.Code != http.StatusMultipleChoices || !strings.Contains(page.Body.String(), `href="/t/t?session=s2&amp;tenant=b"`) {
		t.Errorf("an id in two sessions: %d\n%s", page.Code, page.Body)
	}
	if answer := get(t, several, "/api/v1/sessions"); answer.Code != http.StatusConflict || !strings.Contains(answer.Body.String(), `"near":["s1","s2"]`) {
		t.Errorf("an id in two sessions: %d %s", answer.Code, answer.Body)
	}
}

// TestEveryCodeIsInTheDocument: problemOf returns only codes that the document lists.
func TestEveryCodeIsInTheDocument(t *testing.T) {
	t.Parallel()
	text := string(document())
	for _, code := range problemCodes {
		if !strings.Contains(text, `"`+code+`"`) {
			t.Errorf("the document lacks %s", code)
		}
	}
}

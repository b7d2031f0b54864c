package site

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/access"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/source"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/view"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// get asks a site whose ledger cannot be opened because of err.
func get(t *testing.T, err error, path string) *httptest.ResponseRecorder {
	t.Helper()
	handler := New(Config{Open: func(context.Context) (*ledger.Ledger, *cluster.Ledgers, error) { return nil, nil, err }})
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
		{fmt.Errorf("%w: shard 2 at s2:9000: %w", cluster.ErrShard, ledger.ErrUnreachable), 503, "shard 2 at s2:9000", "unreachable"},
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

// TestProblemsOfNoTextAreProblems asks with a parameter whose name is no text.
func TestProblemsOfNoTextAreProblems(t *testing.T) {
	t.Parallel()
	if answer := get(t, nil, "/api/v1/sessions?%ff=1"); answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), `"code":"wrong_request"`) {
		t.Errorf("the API answers %d %s", answer.Code, answer.Body)
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

// TestHeadComesFirst: a browser gets the title of a page while the ledger still reads the rest. A
// program gets the status of the whole page.
func TestHeadComesFirst(t *testing.T) {
	t.Parallel()
	evidence := view.EvidencePage{}
	evidence.Sub = "the rest"
	for kind, content := range map[string]any{"session": view.SessionPage{Session: view.Session{Sub: "the rest"}}, "evidence": evidence} {
		t.Run(kind, func(t *testing.T) { t.Parallel(); headComesFirst(t, kind, content) })
	}
}

func headComesFirst(t *testing.T, kind string, content any) {
	for _, packed := range []bool{true, false} {
		for _, navigates := range []bool{true, false} {
			for _, failure := range []error{nil, fmt.Errorf("dial: %w", ledger.ErrUnreachable)} {
				t.Run(fmt.Sprint(packed, navigates, failure), func(t *testing.T) {
					t.Parallel()
					headWasRead := make(chan bool)
					s := &site{Config: Config{Open: func(context.Context) (*ledger.Ledger, *cluster.Ledgers, error) { return nil, nil, nil }, Log: slog.New(slog.DiscardHandler)}}
					server := httptest.NewServer(s.show(func(r *http.Request, _ *ledger.Ledger) (shown, error) {
						return shown{kind: kind, page: view.Page{Title: "the title"}, rest: func() (any, error) {
							if navigates {
								<-headWasRead
							}
							return content, failure
						}}, nil
					}))
					defer server.Close()
					request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
					if err != nil {
						t.Fatal(err)
					}
					if !packed {
						request.Header.Set("Accept-Encoding", "identity")
					}
					if navigates {
						request.Header.Set("Sec-Fetch-Mode", "navigate")
					}
					response, err := server.Client().Do(request)
					if err != nil {
						t.Fatal(err)
					}
					defer response.Body.Close()
					body, head := bufio.NewReader(response.Body), ""
					if navigates {
						for !strings.Contains(head, "<h1>the title</h1>") {
							c, err := body.ReadByte()
							if err != nil {
								t.Fatalf("the title is not in %q: %v", head, err)
							}
							head += string(c)
						}
						close(headWasRead)
					}
					rest, err := io.ReadAll(body)
					page := head + string(rest)
					if err != nil || strings.Count(page, "</html>") != 1 {
						t.Errorf("the page has no end: %v\n%s", err, page)
					}
					status, want := http.StatusOK, "the rest"
					switch {
					case failure != nil && navigates:
						want = `<meta http-equiv="refresh" content="2"><section class="card" role="alert"><h2>ClickHouse does not answer`
					case failure != nil:
						status, want = http.StatusServiceUnavailable, "<h1>ClickHouse does not answer"
					}
					if response.StatusCode != status || !strings.Contains(page, want) {
						t.Errorf("%d, want %d and %q in\n%s", response.StatusCode, status, want, page)
					}
				})
			}
		}
	}
}

// narrow is a listener whose connections hold little that was not read.
type narrow struct{ net.Listener }

func (l narrow) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(1)
	}
	return c, err
}

// streaming serves the event streams of a ledger that does not answer.
func streaming(t *testing.T, p pace) (*site, net.Addr) {
	t.Helper()
	open := func(context.Context) (*ledger.Ledger, *cluster.Ledgers, error) {
		return nil, nil, ledger.ErrUnreachable
	}
	s := &site{Config: Config{Open: open}, streams: make(chan struct{}, 1), pace: p}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /events/s/{session}", func(w http.ResponseWriter, r *http.Request) {
		s.follow(w, r.WithContext(access.As(r.Context(), access.Local)))
	})
	server := httptest.NewUnstartedServer(mux)
	server.Listener = narrow{server.Listener}
	server.Start()
	t.Cleanup(server.Close)
	return s, server.Listener.Addr()
}

// TestABrowserThatStopsReadingLosesItsStream: its place is free for another page.
func TestABrowserThatStopsReadingLosesItsStream(t *testing.T) {
	t.Parallel()
	s, address := streaming(t, pace{look: 100 * time.Microsecond, write: 50 * time.Millisecond, ending: time.Hour})
	browser, err := net.Dial("tcp", address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer browser.Close()
	if err := browser.(*net.TCPConn).SetReadBuffer(1); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(browser, "GET /events/s/x HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := io.ReadFull(browser, make([]byte, len("HTTP/1.1 200 OK"))); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); len(s.streams) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the stream is still open")
		}
	}
}

// TestEveryStreamEnds: a browser that is there opens the next one, and one that is gone does not.
func TestEveryStreamEnds(t *testing.T) {
	t.Parallel()
	_, address := streaming(t, pace{look: 10 * time.Millisecond, write: time.Minute, ending: 50 * time.Millisecond})
	for range 3 {
		response, err := http.Get("http://" + address.String() + "/events/s/x")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || !strings.HasPrefix(string(text), ":\n\n") {
			t.Errorf("the stream is %q, %v", text, err)
		}
	}
}

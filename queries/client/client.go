// Package client asks the read API of a ctxledger server, which `ctxledger up` and `ctxledger serve`
// answer. The document at /api/v1/openapi.json describes the answers.
//
//	c := client.Client{Base: "http://127.0.0.1:7070"}
//	for session, err := range c.Sessions(ctx, nil) { … }
//
// Numbers of rows are json.Number, and NULL is nil: unknown is not zero. The package needs nothing
// but the standard library.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// Client asks one server. The zero value needs Base only. Safe for concurrent use.
type Client struct {
	// Base is the address of the server, such as https://ledger.example:8443.
	Base string
	// Token is a token of the server with the role read. Empty sends none.
	Token string
	// HTTP sends the requests. Nil means http.DefaultClient.
	HTTP *http.Client

	mu     sync.Mutex // guards copies
	copies map[string]answer
}

// answer is a body that the server gave before, with its ETag.
type answer struct {
	tag, link string
	text      []byte
}

// mostCopies limits the memory of answers. mostKept is the largest kept one in bytes.
const (
	mostCopies = 64
	mostKept   = 1 << 20
	mostBody   = 256 << 20
)

// Row is one row of an answer, by column.
type Row map[string]any

// Problem is an error of the server (RFC 9457).
type Problem struct {
	Status int      `json:"status"`
	Title  string   `json:"title"`
	Detail string   `json:"detail"`
	Code   string   `json:"code"` // such as unknown_id, ambiguous_id or unauthenticated
	Near   []string `json:"near"` // similar ids, or the sessions that have the id
}

func (p *Problem) Error() string {
	return fmt.Sprintf("the server answers %d %s: %s", p.Status, p.Code, p.Detail)
}

// Sessions returns all sessions, newest first, page by page. The values are those of the query
// sessions, such as tenant, agent, model, day and limit, the size of a page. After an error the
// sequence ends.
func (c *Client) Sessions(ctx context.Context, values url.Values) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		path := at("sessions", values)
		for path != "" {
			var rows []Row
			link, err := c.get(ctx, path, &rows)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
			path = link
		}
	}
}

// Session returns a session, in one row for each tenant that has it.
func (c *Client) Session(ctx context.Context, session string, values url.Values) ([]Row, error) {
	return c.rows(ctx, "sessions/"+url.PathEscape(session), values)
}

// Calls returns the calls of a session.
func (c *Client) Calls(ctx context.Context, session string, values url.Values) ([]Row, error) {
	return c.rows(ctx, "sessions/"+url.PathEscape(session)+"/calls", values)
}

// Layers returns the layers of each call of a session.
func (c *Client) Layers(ctx context.Context, session string, values url.Values) ([]Row, error) {
	return c.rows(ctx, "sessions/"+url.PathEscape(session)+"/layers", values)
}

// SessionGaps returns the gaps of a session.
func (c *Client) SessionGaps(ctx context.Context, session string, values url.Values) ([]Row, error) {
	return c.rows(ctx, "sessions/"+url.PathEscape(session)+"/gaps", values)
}

// Gaps returns the gaps of the session in values.
func (c *Client) Gaps(ctx context.Context, values url.Values) ([]Row, error) {
	return c.rows(ctx, "gaps", values)
}

// TurnWindow returns the window of a turn's last call, or of the call in values.
func (c *Client) TurnWindow(ctx context.Context, turn string, values url.Values) (Row, error) {
	return c.row(ctx, "turns/"+url.PathEscape(turn)+"/window", values)
}

// CallWindow returns the window of a call.
func (c *Client) CallWindow(ctx context.Context, call string, values url.Values) (Row, error) {
	return c.row(ctx, "calls/"+url.PathEscape(call)+"/window", values)
}

// ItemHistory returns what happened to an item of the session in values.
func (c *Client) ItemHistory(ctx context.Context, item string, values url.Values) (Row, error) {
	return c.row(ctx, "items/"+url.PathEscape(item)+"/history", values)
}

// Diff returns the difference of the two windows in values.
func (c *Client) Diff(ctx context.Context, values url.Values) (Row, error) {
	return c.row(ctx, "diff", values)
}

// Evidence returns what the standing checks find.
func (c *Client) Evidence(ctx context.Context, values url.Values) ([]Row, error) {
	return c.rows(ctx, "evidence", values)
}

// Queries returns the catalogue of named queries.
func (c *Client) Queries(ctx context.Context) ([]Row, error) { return c.rows(ctx, "queries", nil) }

// Query returns the rows of a named query. The values are its parameters.
func (c *Client) Query(ctx context.Context, name string, values url.Values) ([]Row, error) {
	return c.rows(ctx, "queries/"+url.PathEscape(name), values)
}

func (c *Client) rows(ctx context.Context, path string, values url.Values) (rows []Row, err error) {
	_, err = c.get(ctx, at(path, values), &rows)
	return rows, err
}

func (c *Client) row(ctx context.Context, path string, values url.Values) (row Row, err error) {
	_, err = c.get(ctx, at(path, values), &row)
	return row, err
}

// at returns the address of a path below the server's.
func at(path string, values url.Values) string {
	path = "/api/v1/" + path
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	return path
}

// get reads an answer into a value, and returns the address of the next page.
func (c *Client) get(ctx context.Context, path string, into any) (next string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.Base, "/")+path, nil)
	if err != nil {
		return "", fmt.Errorf("ask %s: %w", path, err)
	}
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	before, known := c.kept(path)
	if known {
		request.Header.Set("If-None-Match", before.tag)
	}
	sender := c.HTTP
	if sender == nil {
		sender = http.DefaultClient
	}
	response, err := sender.Do(request)
	if err != nil {
		return "", fmt.Errorf("ask %s: %w", path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostBody))
	if err != nil {
		return "", fmt.Errorf("ask %s: %w", path, err)
	}
	got := answer{response.Header.Get("ETag"), nextOf(response.Header.Get("Link")), text}
	switch {
	case response.StatusCode == http.StatusNotModified && known:
		got = before
	case response.StatusCode != http.StatusOK:
		problem := &Problem{Status: response.StatusCode, Title: http.StatusText(response.StatusCode)}
		_ = json.Unmarshal(text, problem) // a proxy may answer in another form
		return "", problem
	}
	c.keep(path, got)
	decoder := json.NewDecoder(bytes.NewReader(got.text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return "", fmt.Errorf("read the answer to %s: %w", path, err)
	}
	return got.link, nil
}

// nextOf returns the address with rel="next" of a Link header, "" without one.
func nextOf(link string) string {
	address, rest, ok := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	if !ok || !strings.HasPrefix(link, "</api/v1/") || strings.TrimSpace(rest) != `; rel="next"` {
		return ""
	}
	return address
}

func (c *Client) kept(path string) (answer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, known := c.copies[path]
	return a, known
}

func (c *Client) keep(path string, a answer) {
	if a.tag == "" || len(a.text) > mostKept {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.copies == nil || len(c.copies) >= mostCopies {
		c.copies = make(map[string]answer)
	}
	c.copies[path] = a
}

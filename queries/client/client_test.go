package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestClient: pages are followed, an unchanged answer is not sent again, and an error is a Problem.
func TestClient(t *testing.T) {
	t.Parallel()
	sent, unchanged := 0, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer secret":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"code":"unauthenticated","detail":"no","near":["a"]}`))
		case r.Header.Get("If-None-Match") == `"1"`:
			unchanged++
			w.WriteHeader(http.StatusNotModified)
		case r.URL.Query().Get("cursor") == "":
			sent++
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Link", `</api/v1/sessions?cursor=x>; rel="next"`)
			_, _ = w.Write([]byte(`[{"session_id":"a","calls":9007199254740993}]`))
		case r.URL.Query().Get("cursor") == "x":
			w.Header().Set("Link", `<https://elsewhere.example/api/v1/sessions>; rel="next"`)
			_, _ = w.Write([]byte(`[{"session_id":"b","calls":null}]`))
		}
	}))
	defer server.Close()
	c := &Client{Base: server.URL + "/", Token: "secret"}
	for range 2 {
		var ids []any
		for row, err := range c.Sessions(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, row["session_id"], row["calls"])
		}
		if len(ids) != 4 || ids[0] != "a" || ids[2] != "b" || ids[3] != nil || ids[1].(interface{ String() string }).String() != "9007199254740993" {
			t.Errorf("the sessions are %v", ids)
		}
	}
	if sent != 1 || unchanged != 1 {
		t.Errorf("the first page was sent %d times, and %d times it was unchanged", sent, unchanged)
	}
	var problem *Problem
	_, err := (&Client{Base: server.URL}).Queries(t.Context())
	if !errors.As(err, &problem) || problem.Status != http.StatusUnauthorized || problem.Code != "unauthenticated" || len(problem.Near) != 1 {
		t.Errorf("the error is %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range c.Sessions(ended, nil) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
	}
}

package access

import (
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
)

// refusal is the answer to a request that is not allowed. Paths of programs get a problem of RFC
// 9457, pages get a line of text.
type refusal struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Fix    string `json:"fix"`
}

func refuse(status int, code, detail, fix string) *refusal {
	return &refusal{"urn:ctxledger:problem:" + code, http.StatusText(status), status, code, detail, fix}
}

func (no *refusal) write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	switch no.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Basic realm="ctxledger", charset="UTF-8"`)
	case http.StatusTooManyRequests:
		h.Set("Retry-After", "1")
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	contentType, text := "text/plain; charset=utf-8", fmt.Appendf(nil, "%s: %s\n", no.Detail, no.Fix)
	if isForPrograms(r.URL.Path) {
		if problem, err := json.Marshal(no); err == nil {
			contentType, text = "application/problem+json", problem
		}
	}
	h.Set("Content-Type", contentType)
	w.WriteHeader(no.Status)
	_, _ = w.Write(text) // the client may be gone
}

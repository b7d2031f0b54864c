package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/schema"
)

// ReceiptsPath is the path of the notices.
const ReceiptsPath = "/v1/receipts"

// maxNotices is the largest number of notices that one request reads.
const maxNotices = 1000

// Receipts is the body of an answer with notices.
type Receipts struct {
	Notices []Receipt `json:"notices"` // in the order of their stream
	Next    uint64    `json:"next"`    // the value of after for the next request
	More    bool      `json:"more"`    // whether the stream may have more notices now
}

// Receipt is a notice with its position in the stream of notices.
type Receipt struct {
	Position uint64 `json:"position"`
	schema.Notice
}

// serveReceipts answers GET /v1/receipts.
func (h *Handler) serveReceipts(w http.ResponseWriter, r *http.Request) {
	receipts, p := h.receipts(r)
	if p != nil {
		p.write(w)
		return
	}
	writeJSON(w, http.StatusOK, "application/json", receipts)
}

func (h *Handler) receipts(r *http.Request) (*Receipts, *Problem) {
	tenant, p := h.admit(r, http.MethodGet)
	if p != nil {
		return nil, p
	}
	after, source, p := readPlace(r.URL.RawQuery)
	if p != nil {
		return nil, p
	}
	release, p := h.enter()
	if p != nil {
		return nil, p
	}
	defer release()
	ctx, cancel := context.WithTimeout(r.Context(), h.config.StoreTimeout)
	defer cancel()
	receipts, err := h.readNotices(ctx, tenant, source, after)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, problem(http.StatusServiceUnavailable, "no_notices", "no stream has notices", "run `ctxledger migrate`, then send the request again")
	case err != nil:
		return nil, unavailable("the notices could not be read").problem()
	}
	return receipts, nil
}

// readPlace reads the query string.
func readPlace(query string) (after uint64, source string, p *Problem) {
	const fix = "send ?after=<next of the last answer> and ?source=<source of your events>, or nothing"
	values, err := url.ParseQuery(query)
	if err != nil {
		return 0, "", problem(http.StatusBadRequest, "parameter", "the query string is malformed", fix)
	}
	for name, given := range values {
		switch value := given[len(given)-1]; name {
		case "after":
			if after, err = strconv.ParseUint(value, 10, 63); err != nil {
				return 0, "", problem(http.StatusBadRequest, "parameter", "after is no position", fix)
			}
		case "source":
			source = value
		default:
			return 0, "", problem(http.StatusBadRequest, "parameter", "the parameter "+schema.Clip(name)+" is unknown", fix)
		}
	}
	return after, source, nil
}

// readNotices reads the notices of a tenant above a position, or those of one source.
func (h *Handler) readNotices(ctx context.Context, tenant, source string, after uint64) (*Receipts, error) {
	stream, err := h.config.JetStream.Stream(ctx, schema.NoticeStream)
	if err != nil {
		return nil, err
	}
	receipts, subject := &Receipts{Notices: []Receipt{}, Next: after}, schema.NoticeSubject(tenant, source)
	for range maxNotices {
		msg, err := stream.GetMsg(ctx, receipts.Next+1, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return receipts, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", schema.NoticeStream, err)
		}
		receipts.Next = msg.Sequence
		receipt := Receipt{Position: msg.Sequence}
		if json.Unmarshal(msg.Data, &receipt.Notice) == nil && (source == "" || receipt.Source == source) {
			receipts.Notices = append(receipts.Notices, receipt)
		}
	}
	receipts.More = true
	return receipts, nil
}

// enter takes one of the slots for requests.
func (h *Handler) enter() (release func(), p *Problem) {
	select {
	case h.slots <- struct{}{}:
		return func() { <-h.slots }, nil
	default:
		return nil, busy(fmt.Sprintf("%d requests are under way", cap(h.slots)))
	}
}

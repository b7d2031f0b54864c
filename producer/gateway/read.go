package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/schema"
)

const (
	structuredType = "application/cloudevents+json"
	batchType      = "application/cloudevents-batch+json"
)

// judged is one event of a request.
type judged struct {
	event      *schema.Event // nil if it was not readable
	message    schema.Message
	violations schema.Violations
}

// readEvents reads and judges the events of a body. A problem means that the body is not a
// list of events at all.
func readEvents(header http.Header, body []byte, tenant string, now time.Time, most int) ([]judged, *Problem) {
	switch mediaType(header.Get("Content-Type")) {
	case structuredType:
		if p := checkCharset(header); p != nil {
			return nil, p
		}
		return []judged{judgeDocument(body, tenant, now)}, nil
	case batchType:
		if p := checkCharset(header); p != nil {
			return nil, p
		}
		return readBatch(body, tenant, now, most)
	}
	e, err := schema.ParseMessage(header, body)
	return []judged{judge(e, publish.ViolationsOf(err), tenant, now)}, nil
}

// checkCharset refuses JSON in another character set than UTF-8.
func checkCharset(header http.Header) *Problem {
	_, parameters, _ := strings.Cut(strings.ToLower(header.Get("Content-Type")), ";")
	if _, charset, has := strings.Cut(parameters, "charset="); has && !strings.HasPrefix(strings.Trim(charset, `" `), "utf-8") {
		return problem(http.StatusUnsupportedMediaType, "content_type", "the charset is "+schema.Clip(charset), "send JSON in UTF-8")
	}
	return nil
}

// readBatch splits a JSON array. Each element is then read strictly, so a fault inside of an
// event has a verdict and leaves the other events as they are.
func readBatch(body []byte, tenant string, now time.Time, most int) ([]judged, *Problem) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	notArray := func(found string, index int) *Problem {
		p := problem(http.StatusBadRequest, "not_json", found, "send a JSON array of CloudEvents; nothing was stored")
		p.Index = &index
		return p
	}
	if kind := dec.PeekKind(); kind != '[' {
		return nil, notArray("the batch is "+schema.KindName(kind)+" and no array", 0)
	}
	_, _ = dec.ReadToken()
	list := []judged{}
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return nil, notArray(fmt.Sprintf("the batch breaks off at event %d: %s", len(list), syntaxOf(err)), len(list))
		}
		if len(list) == most {
			return nil, problem(http.StatusRequestEntityTooLarge, "too_many", fmt.Sprintf("the batch has more than %d events", most), "send the events in several requests; nothing was stored")
		}
		end := int(dec.InputOffset())
		list = append(list, judgeDocument(body[end-len(value):end:end], tenant, now))
	}
	_, err := dec.ReadToken()
	if err == nil {
		if _, err = dec.ReadToken(); err == io.EOF {
			return list, nil
		}
	}
	return nil, notArray("the batch does not end after its array", len(list))
}

func syntaxOf(err error) string {
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntactic):
		return schema.Clip(syntactic.Err.Error())
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the body ended early"
	}
	return "no JSON"
}

func judgeDocument(document []byte, tenant string, now time.Time) judged {
	e, found := publish.ReadDocument(document)
	return judge(e, found, tenant, now)
}

// judge binds an event to the tenant of the request and checks it.
func judge(e *schema.Event, found schema.Violations, tenant string, now time.Time) judged {
	j := judged{event: e, violations: found}
	if len(found) > 0 {
		return j
	}
	if v := checkAuthority(e, tenant); v != nil {
		j.violations = schema.Violations{v}
		return j
	}
	j.message, j.violations = publish.CheckIncoming(e, now)
	return j
}

// checkAuthority refuses an event that this request has no right to publish, and names the
// tenant in an event that names none.
func checkAuthority(e *schema.Event, tenant string) *schema.Violation {
	switch {
	case e.Tenant == "" && tenant != schema.DefaultTenant:
		e.Tenant = tenant
	case schema.TenantOf(e.Tenant) != tenant:
		return &schema.Violation{
			Code: schema.CodeTenantMismatch, Pointer: "/tenant", Found: "the tenant " + schema.Clip(e.Tenant) + " in a request of another tenant",
			Fix: "leave the tenant out, or use a token of that tenant",
		}
	}
	for _, kind := range schema.OperatorTypes() {
		if e.EventType() == kind {
			return &schema.Violation{
				Code: schema.CodeSubjectMismatch, Pointer: "/type", Found: "a fact that only the operator publishes",
				Fix: "use the command of ctxledger that records it",
			}
		}
	}
	return nil
}

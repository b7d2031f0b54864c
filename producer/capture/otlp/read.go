package otlp

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
	"github.com/ctxledger/ctxledger/schema"
)

// ErrMalformed means that a body is no OTLP request of its signal.
var ErrMalformed = errors.New("the body is no OTLP request")

// Call is a model call that telemetry reported.
type Call struct {
	Exchange dialect.Exchange
	Session  string // the conversation, or trace_<id> if the call names none
	Agent    string
	At       time.Time
	Key      string // trace and span, or another place: the same in all records of a call
	Unnamed  bool   // the call names no conversation
	Partial  []string
}

// Read is the result of one body.
type Read struct {
	Calls   []Call // by time
	Left    int    // records that are no model calls
	Refused int    // records of model calls that cannot be read
}

// content is a model call while it is read.
type content struct {
	id, model, answered, stop    string
	system, input, output        []message
	tools                        []map[string]any
	withMessages, withDefinition bool
	systemInMessages             bool // by the convention, so a window without one has none
}

// Traces reads an ExportTraceServiceRequest. Its error is [ErrMalformed].
func Traces(body []byte, fromJSON bool) (r Read, err error) {
	var data traces.TracesData // the same fields as the request
	if err := unmarshal(body, fromJSON, &data); err != nil {
		return r, err
	}
	for _, resource := range data.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				a := make(attributes)
				a.add(span.GetAttributes())
				for _, e := range span.GetEvents() { // older conventions have the messages in events
					if slices.Contains(callEvents, e.GetName()) {
						a.add(e.GetAttributes())
					}
				}
				if !a.isCall(span.GetName()) {
					r.Left++
					continue
				}
				a.add(resource.GetResource().GetAttributes())
				r.add(a, int64(span.GetStartTimeUnixNano()), traceID(span.GetTraceId(), fromJSON), traceID(span.GetSpanId(), fromJSON))
			}
		}
	}
	r.sort()
	return r, nil
}

// Logs reads an ExportLogsServiceRequest. Its error is [ErrMalformed].
func Logs(body []byte, fromJSON bool) (r Read, err error) {
	var data logs.LogsData
	if err := unmarshal(body, fromJSON, &data); err != nil {
		return r, err
	}
	for _, resource := range data.GetResourceLogs() {
		for _, scope := range resource.GetScopeLogs() {
			for _, record := range scope.GetLogRecords() {
				a := make(attributes)
				a.add(record.GetAttributes())
				if !a.isCallEvent(textOf(a["event.name"]), record.GetEventName(), record.GetBody().GetStringValue()) {
					r.Left++
					continue
				}
				if list := record.GetBody().GetKvlistValue(); list != nil {
					a.add(list.GetValues())
				}
				a.add(resource.GetResource().GetAttributes())
				at := record.GetTimeUnixNano()
				if at == 0 {
					at = record.GetObservedTimeUnixNano()
				}
				r.add(a, int64(at), traceID(record.GetTraceId(), fromJSON), traceID(record.GetSpanId(), fromJSON))
			}
		}
	}
	r.sort()
	return r, nil
}

func unmarshal(body []byte, fromJSON bool, to proto.Message) (err error) {
	if fromJSON {
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(body, to)
	} else {
		err = proto.Unmarshal(body, to)
	}
	if err != nil {
		return fmt.Errorf("%w: it does not decode", ErrMalformed) // the cause may quote content
	}
	return nil
}

// isCall reports whether a span is a model call.
func (a attributes) isCall(name string) bool {
	operation := textOf(a["ai.operationId"])
	switch {
	case slices.Contains(innerSpans, operation), slices.Contains(innerSpans, name):
		return true
	case strings.HasPrefix(operation, "ai."), strings.HasPrefix(name, "ai."):
		return false // a span around the calls
	case textOf(a["openinference.span.kind"]) != "":
		return strings.EqualFold(textOf(a["openinference.span.kind"]), "LLM")
	case textOf(a["llm.request.type"]) != "":
		return true
	}
	return slices.Contains(callOperations, textOf(a["gen_ai.operation.name"]))
}

// agentOf leaves out the name that an SDK gives to a service without one: it has a path of the
// machine.
func agentOf(name string) string {
	if strings.HasPrefix(name, "unknown_service") {
		return ""
	}
	return name
}

// isCallEvent reports whether a log record is a model call. The first name that is not empty counts.
func (a attributes) isCallEvent(names ...string) bool {
	name := cmp.Or(names...)
	if name == codexEvent {
		return a[codexCount] != nil
	}
	return slices.Contains(callEvents, name)
}

// add reads a model call.
func (r *Read) add(a attributes, nanos int64, trace, span string) {
	c := content{id: a.text(ResponseID), model: a.text(Model), answered: a.text(Answered), stop: a.text(Stop)}
	c.read(a)
	call := Call{Session: a.text(Session), Agent: agentOf(a.text(Agent)), At: time.Unix(0, nanos).UTC()}
	if trace != "" && span != "" {
		call.Key = trace + ":" + span
	}
	if call.Session == "" {
		if trace == "" {
			r.Refused++ // nothing tells its session
			return
		}
		call.Session, call.Unnamed = "trace_"+trace, true
	}
	if call.Key == "" && nanos > 0 {
		call.Key = fmt.Sprint(call.Session, ":", a["event.sequence"], ":", nanos)
	}
	x := &call.Exchange
	x.Dialect, x.Operation = dialectOf(a.text(Provider)), dialect.Generate
	request, err := c.request(x.Dialect)
	if err == nil {
		x.Request, err = x.Dialect.ReadRequest(request)
	}
	if err != nil {
		r.Refused++
		return
	}
	response, err := c.response(x.Dialect)
	if err != nil {
		r.Refused++
		return
	}
	answer := x.Dialect.NewReader(http.StatusOK, "application/json")
	_, _ = answer.Write(response)
	x.Answer = answer.Answer()
	if len(c.output) == 0 {
		x.Answer.Blocks = nil
	}
	x.Answer.Status, x.Answer.Complete = 0, true
	x.Answer.Usage, x.Answer.Raw, x.Answer.Error = a.usage(), a.numbers(), a.text(Failure)
	if !c.withMessages {
		call.Partial = append(call.Partial, string(schema.PartialEntries))
	}
	if len(c.system) == 0 && !c.systemInMessages {
		call.Partial = append(call.Partial, string(schema.PartialSystem))
	}
	if !c.withDefinition {
		call.Partial = append(call.Partial, string(schema.PartialTools))
	}
	r.Calls = append(r.Calls, call)
}

// read fills in the messages.
func (c *content) read(a attributes) {
	if value, row := a.first(System); value != nil {
		c.system = messagesOf(value, row.Form, "system")
		for i := range c.system {
			c.system[i].role = "system"
		}
	}
	if value, row := a.first(Input); value != nil {
		c.input, c.withMessages, c.systemInMessages = messagesOf(value, row.Form, "user"), true, row.Form != Parts
		for len(c.input) > 0 && c.input[0].role == "system" { // conventions without system instructions
			c.system, c.input = append(c.system, c.input[0]), c.input[1:]
		}
	}
	if value, _ := a.first(Tools); value != nil {
		c.tools = toolsOf(value)
	}
	c.withDefinition = len(c.tools) > 0 || a["ai.prompt.messages"] != nil
	if value, row := a.first(Output); value != nil {
		c.output = messagesOf(value, row.Form, "assistant")
	}
	if calls := a["ai.response.toolCalls"]; calls != nil && a["ai.response.text"] != nil && a["ai.response.text"] != "" {
		c.output = append(c.output, messagesOf(calls, JSONText, "assistant")...)
	}
}

// usage returns disjoint buckets. A part that is larger than its whole makes both unknown. Input
// tokens include those of the cache, so without these the uncached ones are unknown.
func (a attributes) usage() (u schema.ProviderUsage) {
	read, write, reasoning := a.number(CacheRead), a.number(CacheWrite), a.number(Reasoning)
	u.UncachedInput = a.number(Uncached)
	u.CacheRead, u.CacheWrite = read, write
	if all := a.number(InputTokens); u.UncachedInput == nil && all != nil && read != nil {
		if rest := *all - value(read) - value(write); rest >= 0 {
			u.UncachedInput = &rest
		} else {
			u.CacheRead, u.CacheWrite = nil, nil
		}
	}
	u.Output, u.Reasoning = a.number(OutputTokens), reasoning
	if u.Output != nil && reasoning != nil {
		if rest := *u.Output - *reasoning; rest >= 0 {
			u.Output = &rest
		} else {
			u.Output, u.Reasoning = nil, nil
		}
	}
	return u
}

// numbers returns the numbers of a call as telemetry tells them.
func (a attributes) numbers() map[string]any {
	told := make(map[string]any)
	for _, row := range Mapping {
		if n := numberOf(a[row.Name]); row.Form == Number && n != nil {
			told[row.Name] = *n
		}
	}
	if len(told) == 0 {
		return nil
	}
	return told
}

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func (r *Read) sort() {
	slices.SortStableFunc(r.Calls, func(a, b Call) int { return a.At.Compare(b.At) })
}

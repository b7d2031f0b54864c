package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ctxledger/ctxledger/schema"
)

// Paths of OTLP/HTTP.
const (
	LogsPath   = "/v1/logs"
	TracesPath = "/v1/traces"
)

// Telemetry records the model calls of OTLP bodies. refused is the number of refused records,
// and message a sentence for the emitter, or "". The outcome tells what an error means.
type Telemetry interface {
	Report(ctx context.Context, tenant string, logs, fromJSON bool, body []byte) (refused int, message string, outcome TelemetryOutcome)
}

// TelemetryOutcome is the result of a body.
type TelemetryOutcome int

// The outcomes of a body.
const (
	TelemetryTaken     TelemetryOutcome = iota // the stream or an outbox has all of its calls, or they are refused
	TelemetryMalformed                         // the body does not decode
	TelemetryBusy                              // there is no room now, or the calls are not stored yet
	TelemetryForbidden                         // the tenant's telemetry is not recorded here
)

// serveTelemetry answers POST /v1/logs and /v1/traces as OTLP/HTTP demands: in the encoding of
// the request.
func (h *Handler) serveTelemetry(w http.ResponseWriter, r *http.Request) {
	asJSON := mediaType(r.Header.Get("Content-Type")) != protobufType
	refused, message, p := h.takeTelemetry(w, r)
	switch {
	case p != nil && asJSON:
		p.write(w)
	case p != nil:
		var status []byte // google.rpc.Status
		status = protowire.AppendTag(status, 2, protowire.BytesType)
		status = protowire.AppendString(status, p.Detail+"; "+p.Fix)
		p.writeHead(w)
		writeBody(w, p.Status, protobufType, status)
	case asJSON:
		answer := map[string]any{}
		if message != "" {
			name := map[string]string{LogsPath: "rejectedLogRecords", TracesPath: "rejectedSpans"}[r.URL.Path]
			answer["partialSuccess"] = map[string]any{name: strconv.Itoa(refused), "errorMessage": message}
		}
		text, err := json.Marshal(answer)
		if err != nil {
			text = []byte("{}")
		}
		writeBody(w, http.StatusOK, "application/json", text)
	default:
		var answer []byte // an ExportLogsServiceResponse, or an ExportTraceServiceResponse
		if message != "" {
			var partial []byte
			partial = protowire.AppendTag(partial, 1, protowire.VarintType)
			partial = protowire.AppendVarint(partial, uint64(refused))
			partial = protowire.AppendTag(partial, 2, protowire.BytesType)
			partial = protowire.AppendString(partial, message)
			answer = protowire.AppendTag(answer, 1, protowire.BytesType)
			answer = protowire.AppendBytes(answer, partial)
		}
		writeBody(w, http.StatusOK, protobufType, answer)
	}
}

const protobufType = "application/x-protobuf"

func (h *Handler) takeTelemetry(w http.ResponseWriter, r *http.Request) (refused int, message string, p *Problem) {
	tenant, p := h.admit(r, http.MethodPost)
	if p != nil {
		return 0, "", p
	}
	types := r.Header.Values("Content-Type")
	if len(types) != 1 || mediaType(types[0]) != protobufType && mediaType(types[0]) != "application/json" {
		return 0, "", problem(http.StatusUnsupportedMediaType, "content_type", "the Content-Type is none of OTLP/HTTP", "send "+protobufType+" or application/json")
	}
	if h.config.Telemetry == nil {
		return 0, "", problem(http.StatusNotFound, "no_telemetry", "this server records no telemetry", "send it to `ctxledger up`")
	}
	release, p := h.enter()
	if p != nil {
		return 0, "", p
	}
	defer release()
	room := &lease{memory: h.memory}
	defer room.release()
	body, p := h.readBody(w, r, room)
	if p != nil {
		return 0, "", p
	}
	refused, message, outcome := h.config.Telemetry.Report(r.Context(), tenant, r.URL.Path == LogsPath, mediaType(types[0]) == "application/json", body)
	switch outcome {
	case TelemetryMalformed:
		return 0, "", problem(http.StatusBadRequest, "not_otlp", "the body does not decode as "+schema.Clip(r.URL.Path)+" in "+mediaType(types[0]), "send an OTLP request of this signal")
	case TelemetryBusy:
		return 0, "", busy("the calls are not recorded yet")
	case TelemetryForbidden:
		return 0, "", problem(http.StatusForbidden, "forbidden", "telemetry of this tenant is not recorded here", "send it to a server of the tenant")
	}
	return refused, message, nil
}

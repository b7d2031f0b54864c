package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/schema"
)

// An Event is one message of a case's file.
type Event struct {
	Label   string
	Mode    string // binary or structured
	Refused string // the code of the expected refusal; "" for an event that must be recorded
	Later   bool   // published after the other events are projected
	Text    string // headers, empty line and data in binary mode; the document in structured mode
}

var eventHead = regexp.MustCompile(`(?m)^== ([a-z0-9-]+) (binary|structured)(?: refused=([a-z_]+))?( later)?\n`)

// parseEvents reads a file of events. Invalid text is an error of the program.
func parseEvents(file string) []Event {
	heads := eventHead.FindAllStringSubmatchIndex(file, -1)
	if len(heads) == 0 || heads[0][0] != 0 || len(heads) != strings.Count("\n"+file, "\n== ") {
		panic("a file of events has an invalid head")
	}
	events := make([]Event, len(heads))
	for i, h := range heads {
		end := len(file)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		events[i] = Event{Label: file[h[2]:h[3]], Mode: file[h[4]:h[5]], Later: h[8] >= 0, Text: strings.TrimSpace(file[h[1]:end])}
		if h[6] >= 0 {
			events[i].Refused = file[h[6]:h[7]]
		}
	}
	return events
}

// A message is an event in the form of the stream.
type message struct {
	event    *Event
	subject  string
	header   map[string][]string
	data     []byte
	sequence uint64 // sequence in the stream, after publishing
}

// message replaces the placeholders and computes the subject. A publisher computes nothing else.
func (e *Event) message(fill *strings.Replacer) (message, error) {
	m := message{event: e, header: map[string][]string{}}
	text := fill.Replace(e.Text)
	if e.Mode == "structured" {
		m.header["Content-Type"] = []string{"application/cloudevents+json"}
		m.data = []byte(text)
	} else {
		head, data, _ := strings.Cut(text, "\n\n")
		for line := range strings.SplitSeq(head, "\n") {
			name, value, ok := strings.Cut(line, ": ")
			if !ok {
				return m, fmt.Errorf("event %s: the header line %q has no name", e.Label, line)
			}
			m.header[name] = append(m.header[name], value)
		}
		m.data = []byte(data)
	}
	attributes, _, err := m.read()
	if err != nil {
		return m, fmt.Errorf("event %s: %w", e.Label, err)
	}
	object, verb := schema.Type(standardType(attributes["type"])).ObjectVerb()
	m.subject = schema.Subject{
		Tenant: attributes["tenant"], Runtime: attributes["runtimeid"], Bucket: schema.Bucket(attributes["sessionid"]), Object: object, Verb: verb,
	}.String()
	return m, nil
}

// read returns the attributes of the message and the bytes of its data. read does not use the
// tested decoder.
func (m *message) read() (attributes map[string]string, data []byte, err error) {
	attributes = make(map[string]string)
	if m.event.Mode == "binary" {
		for name, values := range m.header {
			if attribute, ok := strings.CutPrefix(name, "ce-"); ok {
				if attributes[attribute], err = url.PathUnescape(values[0]); err != nil {
					return nil, nil, err
				}
			}
		}
		return attributes, m.data, nil
	}
	var document map[string]jsontext.Value
	if err := json.Unmarshal(m.data, &document); err != nil {
		return nil, nil, err
	}
	for name, value := range document {
		if name == "data" {
			data = value
			continue
		}
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return nil, nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		attributes[name] = text
	}
	return attributes, data, nil
}

// standardType returns the standard's name of a CloudEvents type.
func standardType(kind string) string {
	return strings.TrimSuffix(strings.TrimPrefix(kind, "dev.ctxledger."), ".v1")
}

// line returns the event in the form that the check "recorded" computes from a row.
func (m *message) line() (string, error) {
	attributes, data, err := m.read()
	if err != nil {
		return "", err
	}
	at, err := time.Parse(time.RFC3339Nano, attributes["time"])
	if err != nil {
		return "", err
	}
	sequence := strings.TrimLeft(attributes["sequence"], "0")
	fields := []string{attributes["id"], standardType(attributes["type"]), attributes["source"], sequence, strconv.FormatInt(at.UnixNano(), 10), digest(data)}
	for _, f := range schema.CorrelationFields {
		fields = append(fields, attributes[f.Attribute])
	}
	return strings.Join(fields, " | "), nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

package examples

import (
	"os"
	"os/exec"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/schema"
)

const vectorFile = "vectors.json"

// vectors is the file for checking programs in other languages.
type vectors struct {
	About   string `json:"about"`
	Buckets []struct {
		Session string `json:"session"`
		Bucket  string `json:"bucket"`
	} `json:"buckets"`
	MessageIDs []struct {
		Source    string `json:"source"`
		ID        string `json:"id"`
		MessageID string `json:"message_id"`
	} `json:"message_ids"`
	Subjects []struct {
		Tenant    string      `json:"tenant"`
		Runtime   string      `json:"runtime"`
		Session   string      `json:"session"`
		EventType schema.Type `json:"event_type"`
		Subject   string      `json:"subject"`
	} `json:"subjects"`
}

// work computes the results of each input.
func (v *vectors) work() {
	for i := range v.Buckets {
		v.Buckets[i].Bucket = schema.Bucket(v.Buckets[i].Session)
	}
	for i, m := range v.MessageIDs {
		v.MessageIDs[i].MessageID = (&schema.Event{Source: m.Source, ID: m.ID}).MessageID()
	}
	for i, s := range v.Subjects {
		e := &schema.Event{Type: s.EventType.CloudEventsType()}
		e.Tenant, e.RuntimeID, e.SessionID = s.Tenant, s.Runtime, s.Session
		v.Subjects[i].Subject = schema.SubjectOf(e).String()
	}
}

// TestVectors compares the file with the contract. UPDATE=1 writes the results for the inputs
// again. A change of the results is a change of the contract.
func TestVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(vectorFile)
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	if len(v.Buckets) < 5 || len(v.MessageIDs) < 5 || len(v.Subjects) < 5 {
		t.Fatalf("%d buckets, %d message ids, %d subjects", len(v.Buckets), len(v.MessageIDs), len(v.Subjects))
	}
	v.work()
	want, err := json.Marshal(v, jsontext.WithIndent("  "))
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(vectorFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != string(want) {
		t.Errorf("%s is not what the contract says:\n%s", vectorFile, want)
	}
}

// TestPythonVectors runs the part of the Python example that needs only its
// standard library.
func TestPythonVectors(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
	if err := exec.Command(python, "-c", "import sys; sys.exit(sys.version_info < (3, 10))").Run(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("Python before 3.10")
		}
		t.Skip("Python before 3.10")
	}
	cmd := exec.CommandContext(t.Context(), python, "-B", "vectors.py")
	cmd.Dir = "python"
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

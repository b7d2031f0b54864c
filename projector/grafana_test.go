package projector

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ctxledger/ctxledger/projector/metrics"
)

// watching reads a file of deploy/grafana.
func watching(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "deploy", "grafana", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// buildMetric is the metric of the command.
const buildMetric = "ctxledger_build_info"

// described returns the metrics of this package with the names of their labels.
func described() map[string][]string {
	all := make(chan *prometheus.Desc, 100)
	metrics.New().Describe(all)
	close(all)
	parts := regexp.MustCompile(`fqName: "([a-z_]+)".*variableLabels: \{([a-z,]*)\}`)
	found := make(map[string][]string)
	for d := range all {
		m := parts.FindStringSubmatch(d.String())
		found[m[1]] = strings.Split(m[2], ",")
	}
	return found
}

func TestEveryMetricIsInTheTable(t *testing.T) {
	t.Parallel()
	row := regexp.MustCompile("(?m)^\\| `(ctxledger_[a-z_]+)` \\| [a-z]+ \\|([^|]*)\\| [^|]+ \\|$")
	table := make(map[string][]string)
	for _, m := range row.FindAllStringSubmatch(watching(t, "README.md"), -1) {
		labels := []string{"stream"}
		if strings.TrimSpace(m[2]) == "-" { // the metric is of the process
			table[m[1]] = []string{""}
			continue
		}
		for _, l := range strings.Split(m[2], ",") {
			if l = strings.Trim(l, " `"); l != "" {
				labels = append(labels, l)
			}
		}
		table[m[1]] = labels
	}
	if table[buildMetric] == nil {
		t.Errorf("the table lacks %s", buildMetric)
	}
	delete(table, buildMetric)
	for name, labels := range described() {
		if !slices.Equal(table[name], labels) {
			t.Errorf("%s has the labels %q, the table says %q", name, labels, table[name])
		}
		delete(table, name)
	}
	for name := range table {
		t.Errorf("the table has %s, which there is not", name)
	}
}

// named returns the metrics in a query, with histograms by their base names.
func named(query string) (names []string) {
	for _, name := range regexp.MustCompile(`ctxledger_[a-z_]+`).FindAllString(query, -1) {
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, part)
		}
		names = append(names, name)
	}
	return names
}

// rules are the alert rules of deploy/grafana.
type rules struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

func readRules(t *testing.T) (r rules) {
	t.Helper()
	if err := yaml.UnmarshalWithOptions([]byte(watching(t, "alerts.yml")), &r, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRunbook: the runbook has one section for each alert, in the order of the rules, and each
// section says the same four things.
func TestRunbook(t *testing.T) {
	t.Parallel()
	var alerts, sections []string
	for _, group := range readRules(t).Groups {
		for _, r := range group.Rules {
			alerts = append(alerts, r.Alert)
		}
	}
	_, text, _ := strings.Cut(watching(t, filepath.Join("..", "RUNBOOK.md")), "\n## ")
	for section := range strings.SplitSeq(text, "\n## ") {
		name, body, _ := strings.Cut(section, "\n")
		sections = append(sections, name)
		at := -1
		for _, part := range []string{"\n**Meaning.** ", "\n**See.** ", "\n**Do.**\n1. ", "\n**Never.** "} {
			next := strings.Index(body, part)
			if next <= at || strings.Count(body, part) != 1 {
				t.Errorf("%s: %q is not there once, in its place", name, part)
			}
			at = next
		}
	}
	if !slices.Equal(alerts, sections) {
		t.Errorf("the rules have %q, the runbook has %q", alerts, sections)
	}
}

// TestAlertsOnFullServersNameEveryCode: the alerts select all codes that the health calls full.
func TestAlertsOnFullServersNameEveryCode(t *testing.T) {
	t.Parallel()
	selector := regexp.MustCompile(`cause=~?"([a-z|]+)", code=~"([0-9|]+)"`)
	named := make(map[metrics.Failure]bool)
	for _, group := range readRules(t).Groups {
		for _, r := range group.Rules {
			if m := selector.FindStringSubmatch(r.Expr); m != nil {
				for _, who := range strings.Split(m[1], "|") {
					for _, code := range strings.Split(m[2], "|") {
						named[metrics.Failure{Who: who, Code: code}] = true
					}
				}
			}
		}
	}
	for _, who := range []string{"clickhouse", "nats", "lease", "other"} {
		for code := range 20_000 {
			if f := (metrics.Failure{Who: who, Code: strconv.Itoa(code)}); f.Full() != named[f] {
				t.Errorf("%s %s: full is %v, and in an alert %v", f.Who, f.Code, f.Full(), named[f])
			}
		}
	}
}

func TestAlertsAndDashboardAskForMetricsThatAreThere(t *testing.T) {
	t.Parallel()
	var dashboard struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal([]byte(watching(t, "dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	have := described()
	have[buildMetric] = nil
	asked := make(map[string]bool)
	check := func(where, query string) {
		t.Helper()
		names := named(query)
		if len(names) == 0 {
			t.Errorf("%s asks for no metric: %q", where, query)
		}
		for _, name := range names {
			asked[name] = true
			if _, ok := have[name]; !ok {
				t.Errorf("%s asks for %s, which there is not", where, name)
			}
		}
	}
	for _, group := range readRules(t).Groups {
		for _, r := range group.Rules {
			check(r.Alert, r.Expr)
			if r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
				t.Errorf("%s has no severity or summary", r.Alert)
			}
		}
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			check(p.Title, target.Expr)
		}
	}
	for name := range have {
		if !asked[name] {
			t.Errorf("nobody asks for %s", name)
		}
	}
}

// TestEveryWarningHasAnEvent reads the package. Every logged warning and error must have an
// event for alarms, and the README must explain the event.
func TestEveryWarningHasAnEvent(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Glob("*/*.go")
	files = append(files, below...)
	if err != nil {
		t.Fatal(err)
	}
	explained, warnings := watching(t, "README.md"), 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !warns(call) {
				return true
			}
			warnings++
			if len(call.Args) < 3 || literal(call.Args[1]) != "event" {
				t.Errorf("%s: a warning without an event", set.Position(call.Pos()))
			} else if event := literal(call.Args[2]); event != "" && !strings.Contains(explained, "\n| `"+event+"` |") {
				t.Errorf("%s: the event %s is not explained", set.Position(call.Pos()), event)
			}
			return true
		})
	}
	for _, reason := range metrics.StopReasons {
		if !strings.Contains(explained, "\n| `"+reason+"` |") {
			t.Errorf("the event %s is not explained", reason)
		}
	}
	if warnings < 9 {
		t.Errorf("found %d warnings only", warnings)
	}
}

// warns reports whether a call is Warn or Error of a log in a field or variable.
func warns(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || method.Sel.Name != "Warn" && method.Sel.Name != "Error" {
		return false
	}
	switch log := method.X.(type) {
	case *ast.SelectorExpr:
		return strings.EqualFold(log.Sel.Name, "log")
	case *ast.Ident:
		return strings.EqualFold(log.Name, "log")
	}
	return false
}

func literal(e ast.Expr) string {
	if l, ok := e.(*ast.BasicLit); ok {
		if text, err := strconv.Unquote(l.Value); err == nil {
			return text
		}
	}
	return ""
}

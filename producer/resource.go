package producer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/schema"
)

// Resource is a capability that an agent's manifest declares, such as memory (seed 002).
// The declaration gives no access: the run's grants do.
type Resource struct {
	Name string // a letter, then letters, digits, _ and -; unique in a run
	Kind string // kind of provider; defaults to Name
	// Mode is the mode that the manifest requests. Defaults to [grant.Read].
	Mode  grant.Mode
	Tools []Tool // tools that the provider offers
	// Config is the provider's own configuration, as JSON values. Facts hold the names of
	// its members and, with a key, one digest of the whole configuration.
	Config map[string]any
	// Unresolved is the reason for a resource without a provider. Then it has no tools, and
	// every access is denied.
	Unresolved string
}

// Tool is one operation that a provider offers to the model.
type Tool struct {
	Name string // the provider's name; the model uses <resource>_<name>
	// Mode is the mode that the tool needs. Empty means [grant.ReadWrite].
	Mode grant.Mode
}

// Binding is a resource of one run.
type Binding struct {
	Name, Kind          string
	Declared, Effective grant.Mode
	// Tools are the names to show to the model: exactly the tools that the effective mode
	// allows.
	Tools []string
	// Unresolved is the reason for a missing provider, or empty.
	Unresolved string

	configKeys   []string
	configDigest string
}

// Binding returns a declared resource of the run, and whether the run has a resource with
// this name.
func (r *RunContext) Binding(name string) (Binding, bool) {
	b, ok := r.bindings[name]
	b.Tools = slices.Clone(b.Tools)
	return b, ok
}

// resolve binds the resources that a run declares under the modes of the runs above, by
// kind. A kind that no run above declared is not clamped. The second result holds the modes
// for children. For several resources of one kind, the strictest mode counts. A kind that
// the run leaves out keeps its mode from above.
//
// Source: seed 002 (read versus read-write), shared/vectors/grants.json, modes.
func (c *Client) resolve(declared []Resource, above map[string]grant.Mode) (map[string]Binding, map[string]grant.Mode, error) {
	bindings, modes := make(map[string]Binding, len(declared)), maps.Clone(above)
	for i, d := range declared {
		field := fmt.Sprintf("resources[%d]", i)
		mode, err := grant.ParseMode(string(d.Mode))
		_, twice := bindings[d.Name]
		switch {
		case !resourceName(d.Name):
			return nil, nil, invalid(field+".name", "must begin with a letter and continue with letters, digits, _ and -")
		case twice:
			return nil, nil, invalid(field+".name", "is already the name of another resource")
		case err != nil:
			return nil, nil, invalid(field+".mode", "must be read or read-write")
		}
		b := Binding{Name: d.Name, Kind: d.Kind, Declared: mode, Unresolved: d.Unresolved, configKeys: slices.Sorted(maps.Keys(d.Config))}
		if b.Kind == "" {
			b.Kind = d.Name
		}
		if len(d.Config) > 0 {
			config, err := json.Marshal(d.Config, json.Deterministic(true))
			if err != nil {
				return nil, nil, invalid(field+".config", "holds a value that JSON cannot encode")
			}
			b.configDigest = c.config.Key.Digest(config)
		}
		if d.Unresolved != "" {
			bindings[d.Name] = b
			continue
		}
		b.Effective = mode.Clamp(above[b.Kind])
		for _, tool := range d.Tools {
			needs := tool.Mode
			if needs == "" {
				needs = grant.ReadWrite
			}
			if b.Effective.Allows(needs) {
				b.Tools = append(b.Tools, toolName(d.Name, tool.Name))
			}
		}
		bindings[d.Name] = b
	}
	for _, b := range bindings {
		if b.Unresolved != "" {
			continue
		}
		if modes == nil {
			modes = make(map[string]grant.Mode)
		}
		modes[b.Kind] = b.Effective.Clamp(modes[b.Kind])
	}
	return bindings, modes, nil
}

func resourceName(s string) bool {
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '_' && c != '-') {
			return false
		}
	}
	return s != ""
}

// toolName returns the model's name of a resource's tool.
func toolName(resource, tool string) string {
	return strings.ReplaceAll(resource, "-", "_") + "_" + tool
}

// resource returns the facts' description of a resource of the run.
func (r *RunContext) resource(b Binding) schema.Resource {
	return schema.Resource{
		BindingID: bindingID(r.IDs.RunID, b.Name), Name: b.Name, ResourceKind: b.Kind,
		DeclaredMode: string(b.Declared), EffectiveMode: string(b.Effective), Tools: b.Tools,
	}
}

// resolved returns the facts of all bindings, by name.
func (r *RunContext) resolved() (facts []schema.Fact) {
	for _, name := range slices.Sorted(maps.Keys(r.bindings)) {
		b := r.bindings[name]
		f := &schema.ResourceResolved{Resource: r.resource(b)}
		f.ConfigKeys, f.ConfigDigest = b.configKeys, b.configDigest
		if b.Unresolved != "" {
			f.Outcome, f.Reason = schema.ResourceUnresolved, b.Unresolved
		}
		facts = append(facts, f)
	}
	return facts
}

// bindingID returns the id of a run's resource.
func bindingID(run, name string) string { return "resource:" + run + ":" + name }

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

// Resource is a capability that an agent's manifest declares, such as memory
// (seed 002). Declaring it gives no access: that comes from the run's grants.
type Resource struct {
	Name string // begins with a letter, then letters, digits, _ and -; one of a name in a run
	Kind string // of provider; defaults to Name
	// Mode is what the manifest asks for. Defaults to [grant.Read].
	Mode  grant.Mode
	Tools []Tool // what the provider offers
	// Config is the provider's own configuration, as JSON holds it. Facts have the names
	// of its members and, with a key, one digest of it all.
	Config map[string]any
	// Unresolved says why no provider serves the resource. It has no tools then, and every
	// access to it is denied.
	Unresolved string
}

// Tool is one operation that a provider offers to the model.
type Tool struct {
	Name string // the provider's name; the model sees <resource>_<name>
	// Mode says what the tool needs. A tool that does not say needs
	// [grant.ReadWrite].
	Mode grant.Mode
}

// Binding is a resource as one run has it.
type Binding struct {
	Name, Kind          string
	Declared, Effective grant.Mode
	// Tools are the names to show to the model: those that the effective mode
	// allows, and no others.
	Tools []string
	// Unresolved says why no provider serves it; empty where one does.
	Unresolved string

	configKeys   []string
	configDigest string
}

// Binding returns a declared resource of the run, and whether there is one of
// that name.
func (r *RunContext) Binding(name string) (Binding, bool) {
	b, ok := r.bindings[name]
	b.Tools = slices.Clone(b.Tools)
	return b, ok
}

// resolve binds what a run declares under the modes that runs above it have, by
// kind. A kind that none of them declared is not clamped. The modes that come
// back are those for children: of several resources of a kind, the strictest
// counts, and a kind that a run leaves out keeps the mode that it had above.
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
			return nil, nil, invalid(field+".name", "must begin with a letter and go on with letters, digits, _ and -")
		case twice:
			return nil, nil, invalid(field+".name", "is that of another resource")
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
				return nil, nil, invalid(field+".config", "holds what JSON cannot hold")
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

// toolName is what the model calls a tool of a resource.
func toolName(resource, tool string) string {
	return strings.ReplaceAll(resource, "-", "_") + "_" + tool
}

// resource is the part of the facts that says what a run has.
func (r *RunContext) resource(b Binding) schema.Resource {
	return schema.Resource{
		BindingID: bindingID(r.IDs.RunID, b.Name), Name: b.Name, ResourceKind: b.Kind,
		DeclaredMode: string(b.Declared), EffectiveMode: string(b.Effective), Tools: b.Tools,
	}
}

// resolved are the facts of all bindings, by name.
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

// bindingID is the id of a resource as a run has it.
func bindingID(run, name string) string { return "resource:" + run + ":" + name }

package schema

// ScopeOpened records a run's context when it starts (seed 000): who it is,
// whom it inherits from, and what it inherited. Handles and secrets never
// appear; of configurable values only the names do.
type ScopeOpened struct {
	Common
	RunID             string         `json:"run_id" ctx:"required"`              // id of the record
	ParentRunID       string         `json:"parent_run_id,omitempty"`            // the run that started this one
	RootRunID         string         `json:"root_run_id,omitempty"`              // the first run of the tree
	ThreadID          string         `json:"thread_id,omitempty"`                // the thread
	ParentThreadID    string         `json:"parent_thread_id,omitempty"`         // the parent's thread
	ThreadOverridden  bool           `json:"thread_overridden,omitzero"`         // whether the run left its parent's thread
	ScopeKind         string         `json:"scope_kind,omitempty" words:"Scope"` // session, agent, subagent, task
	Depth             *int64         `json:"depth,omitempty"`                    // 0 at the root
	MaxDepth          *int64         `json:"max_depth,omitempty"`                // deepest run allowed below the root
	Tags              []string       `json:"tags,omitempty"`                     // tags of the run's own
	InheritedTags     []string       `json:"inherited_tags,omitempty"`           // tags from the parent
	LocalMetadata     map[string]any `json:"local_metadata,omitempty"`           // metadata of the run's own
	InheritedMetadata map[string]any `json:"inherited_metadata,omitempty"`       // metadata from the parent
	ConfigurableKeys  []string       `json:"configurable_keys,omitempty"`        // names of configurable values, never values
	Limits            map[string]any `json:"limits,omitempty"`                   // of the run, by name
	Stores            []string       `json:"stores,omitempty"`                   // names of stores that the run can reach
	InheritedFields   []string       `json:"inherited_fields,omitempty"`         // names of what came from the parent
	Program           string         `json:"program,omitempty"`                  // the runtime's name and version
	PressurePolicy    *PressureRules `json:"pressure_policy,omitempty"`          // how the run's windows are made to fit
	ContextWrite      *bool          `json:"context_write,omitempty"`            // whether the agent's output goes back to its scratchpads
}

func (*ScopeOpened) EventType() Type    { return TypeScopeOpened }
func (f *ScopeOpened) RecordID() string { return f.RunID }

// Grant is what the three grant facts share (seed 002). A nil Requested
// means that the child inherits; an empty one asks for nothing.
type Grant struct {
	GrantID   string    `json:"grant_id" ctx:"required"` // id of the record
	Grants    []string  `json:"grants,omitempty"`        // what the issuer holds or mints
	Requested *[]string `json:"requested,omitzero"`      // absent: inherit; empty: nothing
	Effective []string  `json:"effective,omitempty"`     // the grants in force
	Inherited bool      `json:"inherited,omitzero"`      // whether they are the parent's, unchanged
	Issuer    string    `json:"issuer,omitempty"`        // trusted code that decided
	Rule      string    `json:"rule,omitempty"`          // the rule that decided
	Code      string    `json:"code,omitempty"`          // on denial
	Reason    string    `json:"reason,omitempty"`        // on denial, for people
	Basis     []Ref     `json:"basis,omitempty"`         // authenticated facts that it was minted from, such as user:u_1
}

func (g *Grant) RecordID() string { return g.GrantID }

// GrantIssued records namespace grants that trusted code minted for a run.
type GrantIssued struct {
	Common
	Grant
}

// GrantNarrowed records what a child run received of its parent's grants.
type GrantNarrowed struct {
	Common
	Grant
}

// GrantDenied records a request that was refused: a malformed grant, or one
// that would have widened.
type GrantDenied struct {
	Common
	Grant
}

func (*GrantIssued) EventType() Type   { return TypeGrantIssued }
func (*GrantNarrowed) EventType() Type { return TypeGrantNarrowed }
func (*GrantDenied) EventType() Type   { return TypeGrantDenied }

// Resource names a runtime capability and its modes, "read" or "read-write".
// BindingID is the capability as one run has it; resource_id is another word,
// that of the data subject.
type Resource struct {
	BindingID     string   `json:"binding_id" ctx:"required"` // id of the record: the resource as one run has it
	Name          string   `json:"name,omitempty"`            // the resource's name in the manifest
	ResourceKind  string   `json:"resource_kind,omitempty"`   // kind of provider; default: the name
	DeclaredMode  string   `json:"declared_mode,omitempty"`   // read or read-write, as the manifest says
	EffectiveMode string   `json:"effective_mode,omitempty"`  // read or read-write, as granted
	Tools         []string `json:"tools,omitempty"`           // tools exposed to the model
	ConfigKeys    []string `json:"config_keys,omitempty"`     // names of the provider's settings, never values
	ConfigDigest  string   `json:"config_digest,omitempty"`   // keyed digest of the settings
}

func (r *Resource) RecordID() string { return r.BindingID }

// ResourceResolved records what came of a declared resource: bound to a run, or
// found by no provider.
type ResourceResolved struct {
	Common
	Resource
	Outcome ResourceOutcome `json:"outcome,omitempty"` // default: resolved
	Reason  string          `json:"reason,omitempty"`  // why it is unresolved, for people
}

// ResourceAccessed records one operation on a resource, allowed or not.
type ResourceAccessed struct {
	Common
	Resource
	Operation    string `json:"operation" ctx:"required"` // such as read, write or list
	Path         string `json:"path,omitempty"`           // within the resource
	MatchedGrant string `json:"matched_grant,omitempty"`  // the grant that allowed it
	Allowed      bool   `json:"allowed"`                  // whether the operation went ahead
}

func (*ResourceResolved) EventType() Type { return TypeResourceResolved }
func (*ResourceAccessed) EventType() Type { return TypeResourceAccessed }

// Scratchpad is the legacy contextIds surface of seed 002.
type Scratchpad struct {
	ScratchpadID string   `json:"scratchpad_id" ctx:"required"` // id of the record
	ContextIDs   []string `json:"context_ids,omitempty"`        // the legacy contextIds
	EntryCount   *int64   `json:"entry_count,omitempty"`        // entries loaded or written
	Tokens       *int64   `json:"tokens,omitempty"`             // of the text
	Digests      []string `json:"digests,omitempty"`            // keyed, see [Key.Digest]
	ItemRefs     []Ref    `json:"item_refs,omitempty"`          // items that the entries are in the window, in order
}

func (s *Scratchpad) RecordID() string { return s.ScratchpadID }

// ScratchpadLoaded records scratchpad text that entered the prompt.
type ScratchpadLoaded struct {
	Common
	Scratchpad
}

// ScratchpadWritten records output written back to scratchpads.
type ScratchpadWritten struct {
	Common
	Scratchpad
}

func (*ScratchpadLoaded) EventType() Type  { return TypeScratchpadLoaded }
func (*ScratchpadWritten) EventType() Type { return TypeScratchpadWritten }

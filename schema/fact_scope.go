package schema

// ScopeOpened records a run's context when the run starts (seed 000): its ids, its parent and its
// inherited values. Handles and secrets never appear. Of configurable values, only the names
// appear.
type ScopeOpened struct {
	Common
	RunID             string         `json:"run_id" ctx:"required"`              // id of the record
	ParentRunID       string         `json:"parent_run_id,omitempty"`            // the run that started this one
	RootRunID         string         `json:"root_run_id,omitempty"`              // the first run of the tree
	ThreadID          string         `json:"thread_id,omitempty"`                // the thread
	ParentThreadID    string         `json:"parent_thread_id,omitempty"`         // the parent's thread
	ThreadOverridden  bool           `json:"thread_overridden,omitzero"`         // whether the run left its parent's thread
	ScopeKind         string         `json:"scope_kind,omitempty" words:"Scope"` // kind of the scope: session, agent, subagent, task
	Depth             *int64         `json:"depth,omitempty"`                    // depth of the run; 0 at the root
	MaxDepth          *int64         `json:"max_depth,omitempty"`                // deepest run allowed below the root
	Tags              []string       `json:"tags,omitempty"`                     // the run's own tags
	InheritedTags     []string       `json:"inherited_tags,omitempty"`           // tags from the parent
	LocalMetadata     map[string]any `json:"local_metadata,omitempty"`           // the run's own metadata
	InheritedMetadata map[string]any `json:"inherited_metadata,omitempty"`       // metadata from the parent
	ConfigurableKeys  []string       `json:"configurable_keys,omitempty"`        // names of configurable values, never values
	Limits            map[string]any `json:"limits,omitempty"`                   // limits of the run, by name
	Stores            []string       `json:"stores,omitempty"`                   // names of stores that the run can reach
	InheritedFields   []string       `json:"inherited_fields,omitempty"`         // names of the fields that the run inherited from its parent
	Program           string         `json:"program,omitempty"`                  // the runtime's name and version
	PressurePolicy    *PressureRules `json:"pressure_policy,omitempty"`          // rules by which the run's windows are made to fit
	ContextWrite      *bool          `json:"context_write,omitempty"`            // whether the agent's output is written back to its scratchpads
}

func (*ScopeOpened) EventType() Type    { return TypeScopeOpened }
func (f *ScopeOpened) RecordID() string { return f.RunID }

// Grant holds the members that the three grant facts share (seed 002). A nil Requested means that
// the child inherits. An empty Requested asks for no grants.
type Grant struct {
	GrantID   string    `json:"grant_id" ctx:"required"` // id of the record
	Grants    []string  `json:"grants,omitempty"`        // grants that the issuer holds or mints
	Requested *[]string `json:"requested,omitzero"`      // grants that the child requested; absent: inherit, empty: none
	Effective []string  `json:"effective,omitempty"`     // the grants in force
	Inherited bool      `json:"inherited,omitzero"`      // whether the grants are the parent's, unchanged
	Issuer    string    `json:"issuer,omitempty"`        // trusted code that decided
	Rule      string    `json:"rule,omitempty"`          // the rule that decided
	Code      string    `json:"code,omitempty"`          // code of the denial
	Reason    string    `json:"reason,omitempty"`        // reason of the denial, for people
	Basis     []Ref     `json:"basis,omitempty"`         // authenticated facts that the grants were minted from, such as user:u_1
}

func (g *Grant) RecordID() string { return g.GrantID }

// GrantIssued records namespace grants that trusted code minted for a run.
type GrantIssued struct {
	Common
	Grant
}

// GrantNarrowed records the part of its parent's grants that a child run received.
type GrantNarrowed struct {
	Common
	Grant
}

// GrantDenied records a refused request: a malformed grant, or a grant wider than the parent's.
type GrantDenied struct {
	Common
	Grant
}

func (*GrantIssued) EventType() Type   { return TypeGrantIssued }
func (*GrantNarrowed) EventType() Type { return TypeGrantNarrowed }
func (*GrantDenied) EventType() Type   { return TypeGrantDenied }

// Resource names a runtime capability and its modes, "read" or "read-write". BindingID is the
// binding of the capability to one run. Resource differs from resource_id, the id of the data
// subject.
type Resource struct {
	BindingID     string   `json:"binding_id" ctx:"required"` // id of the record: the binding of a resource to one run
	Name          string   `json:"name,omitempty"`            // the resource's name in the manifest
	ResourceKind  string   `json:"resource_kind,omitempty"`   // kind of provider; default: the name
	DeclaredMode  string   `json:"declared_mode,omitempty"`   // declared mode: read or read-write
	EffectiveMode string   `json:"effective_mode,omitempty"`  // granted mode: read or read-write
	Tools         []string `json:"tools,omitempty"`           // tools exposed to the model
	ConfigKeys    []string `json:"config_keys,omitempty"`     // names of the provider's settings, never values
	ConfigDigest  string   `json:"config_digest,omitempty"`   // keyed digest of the settings
}

func (r *Resource) RecordID() string { return r.BindingID }

// ResourceResolved records the outcome of a declared resource: bound to a run, or without a
// provider.
type ResourceResolved struct {
	Common
	Resource
	Outcome ResourceOutcome `json:"outcome,omitempty"` // outcome of the resolution; default: resolved
	Reason  string          `json:"reason,omitempty"`  // why the resource is unresolved, for people
}

// ResourceAccessed records one operation on a resource, whether allowed or not.
type ResourceAccessed struct {
	Common
	Resource
	Operation    string `json:"operation" ctx:"required"` // the operation, such as read, write or list
	Path         string `json:"path,omitempty"`           // path within the resource
	MatchedGrant string `json:"matched_grant,omitempty"`  // the grant that allowed the operation
	Allowed      bool   `json:"allowed"`                  // whether the operation was allowed
}

func (*ResourceResolved) EventType() Type { return TypeResourceResolved }
func (*ResourceAccessed) EventType() Type { return TypeResourceAccessed }

// Scratchpad is the legacy contextIds surface of seed 002.
type Scratchpad struct {
	ScratchpadID string   `json:"scratchpad_id" ctx:"required"` // id of the record
	ContextIDs   []string `json:"context_ids,omitempty"`        // the legacy contextIds
	EntryCount   *int64   `json:"entry_count,omitempty"`        // entries loaded or written
	Tokens       *int64   `json:"tokens,omitempty"`             // tokens of the text
	Digests      []string `json:"digests,omitempty"`            // keyed digests of the entries, see [Key.Digest]
	ItemRefs     []Ref    `json:"item_refs,omitempty"`          // items in the window that hold the entries, in order
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

// SequenceRanges are the sequences that one source used in a scope, as closed ranges. Parallel
// runs of a session interleave. A source may therefore have several ranges.
type SequenceRanges struct {
	Source string     `json:"source"` // the events' source attribute
	Ranges [][2]int64 `json:"ranges"` // closed ranges [first, last], in order
}

// EnvelopeCreated seals a scope. EnvelopeCreated is a portable snapshot of the scope's records
// and of their sequences.
type EnvelopeCreated struct {
	Common
	ContextID          string           `json:"context_id" ctx:"required"`          // id of the record
	Scope              string           `json:"scope" ctx:"required" words:"Scope"` // the scope that the record is about
	Lifecycle          Lifecycle        `json:"lifecycle" ctx:"required"`           // lifecycle state of the context
	Producer           Ref              `json:"producer,omitzero"`                  // the program that recorded the scope
	ActorRefs          []Ref            `json:"actor_refs,omitempty"`               // the actors that took part
	RuntimeRefs        []Ref            `json:"runtime_refs,omitempty"`             // ids of runtime records that used the context, without their status
	SurfaceRefs        []Ref            `json:"surface_refs,omitempty"`             // surfaces of the scope
	ItemRefs           []Ref            `json:"item_refs,omitempty"`                // items of the scope
	SelectionRefs      []Ref            `json:"selection_refs,omitempty"`           // selections of the scope
	BudgetRef          Ref              `json:"budget_ref,omitzero"`                // the budget in force
	AssemblyRefs       []Ref            `json:"assembly_refs,omitempty"`            // assemblies of the scope
	InjectionRefs      []Ref            `json:"injection_refs,omitempty"`           // injections of the scope
	CompactionRefs     []Ref            `json:"compaction_refs,omitempty"`          // compactions of the scope
	MissingContextRefs []Ref            `json:"missing_context_refs,omitempty"`     // known gaps of the scope
	Sequences          []SequenceRanges `json:"sequences,omitempty"`                // sequences of the events, per source
	Tags               []string         `json:"tags,omitempty"`                     // the scope's own tags
}

func (*EnvelopeCreated) EventType() Type    { return TypeEnvelopeCreated }
func (f *EnvelopeCreated) RecordID() string { return f.ContextID }

// Exported records that an evidence pack was made.
type Exported struct {
	Common
	PackID     string `json:"pack_id" ctx:"required"`             // id of the record
	Scope      string `json:"scope" ctx:"required" words:"Scope"` // the scope that the record is about
	Digest     string `json:"digest,omitempty"`                   // digest of the pack
	Checkpoint string `json:"checkpoint,omitempty"`               // signed tree head of the transparency log
}

func (*Exported) EventType() Type    { return TypeExported }
func (f *Exported) RecordID() string { return f.PackID }

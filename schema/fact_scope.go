package schema

// ScopeOpened records a run's context when it starts (seed 000): who it is,
// whom it inherits from, and what it inherited. Handles and secrets never
// appear; of configurable values only the names do.
type ScopeOpened struct {
	Common
	RunID             string         `json:"run_id" ctx:"required"`
	ParentRunID       string         `json:"parent_run_id,omitempty"`
	RootRunID         string         `json:"root_run_id,omitempty"`
	ThreadID          string         `json:"thread_id,omitempty"`
	ParentThreadID    string         `json:"parent_thread_id,omitempty"`
	ThreadOverridden  bool           `json:"thread_overridden,omitzero"`
	ScopeKind         string         `json:"scope_kind,omitempty"` // session, agent, subagent, task
	Depth             *int64         `json:"depth,omitempty"`      // 0 at the root
	MaxDepth          *int64         `json:"max_depth,omitempty"`
	Tags              []string       `json:"tags,omitempty"`
	InheritedTags     []string       `json:"inherited_tags,omitempty"`
	LocalMetadata     map[string]any `json:"local_metadata,omitempty"`
	InheritedMetadata map[string]any `json:"inherited_metadata,omitempty"`
	ConfigurableKeys  []string       `json:"configurable_keys,omitempty"`
	Limits            map[string]any `json:"limits,omitempty"`
	Stores            []string       `json:"stores,omitempty"`
	InheritedFields   []string       `json:"inherited_fields,omitempty"`
	Program           string         `json:"program,omitempty"` // the runtime's name and version
}

func (*ScopeOpened) EventType() Type    { return TypeScopeOpened }
func (f *ScopeOpened) RecordID() string { return f.RunID }

// Grant is what the three grant facts share (seed 002). A nil Requested
// means that the child inherits; an empty one asks for nothing.
type Grant struct {
	GrantID   string    `json:"grant_id" ctx:"required"`
	Grants    []string  `json:"grants,omitempty"` // what the issuer holds or mints
	Requested *[]string `json:"requested,omitzero"`
	Effective []string  `json:"effective,omitempty"`
	Inherited bool      `json:"inherited,omitzero"`
	Issuer    string    `json:"issuer,omitempty"`
	Rule      string    `json:"rule,omitempty"`   // the rule that decided
	Code      string    `json:"code,omitempty"`   // on denial
	Reason    string    `json:"reason,omitempty"` // on denial, for people
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
	BindingID     string   `json:"binding_id" ctx:"required"`
	Name          string   `json:"name,omitempty"`
	ResourceKind  string   `json:"resource_kind,omitempty"`
	DeclaredMode  string   `json:"declared_mode,omitempty"`
	EffectiveMode string   `json:"effective_mode,omitempty"`
	Tools         []string `json:"tools,omitempty"` // tools exposed to the model
}

func (r *Resource) RecordID() string { return r.BindingID }

// ResourceResolved records a declared resource bound to a run.
type ResourceResolved struct {
	Common
	Resource
}

// ResourceAccessed records one operation on a resource, allowed or not.
type ResourceAccessed struct {
	Common
	Resource
	Operation    string `json:"operation" ctx:"required"`
	Path         string `json:"path,omitempty"`
	MatchedGrant string `json:"matched_grant,omitempty"`
	Allowed      bool   `json:"allowed"`
}

func (*ResourceResolved) EventType() Type { return TypeResourceResolved }
func (*ResourceAccessed) EventType() Type { return TypeResourceAccessed }

// Scratchpad is the legacy contextIds surface of seed 002.
type Scratchpad struct {
	ScratchpadID string   `json:"scratchpad_id" ctx:"required"`
	ContextIDs   []string `json:"context_ids,omitempty"`
	EntryCount   *int64   `json:"entry_count,omitempty"`
	Tokens       *int64   `json:"tokens,omitempty"`
	Digests      []string `json:"digests,omitempty"` // keyed, see [Key.Digest]
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

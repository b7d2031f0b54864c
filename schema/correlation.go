package schema

// Correlation holds the runtime's ids that a fact travels with, so that
// evidence can join context to the turn, task or tool call that used it. Ids
// are opaque strings; the empty string means that the runtime did not have
// one (CloudEvents allows no empty attribute, so nothing is lost by that).
type Correlation struct {
	Tenant      string
	Agent       string
	ResourceID  string // whose data it is: the data subject
	RuntimeID   string
	SessionID   string
	ThreadID    string
	TurnID      string
	TaskID      string
	RunID       string
	AttemptID   string
	StepID      string
	ToolCallID  string
	ActionID    string
	EvidenceID  string
	ContextID   string
	ParentRunID string
	RootRunID   string
}

// A CorrelationField describes one field of [Correlation]: the CloudEvents
// extension that carries it and the name it has in JSON and in tables.
type CorrelationField struct {
	Attribute string // "sessionid"
	Column    string // "session_id"
	Of        func(*Correlation) *string
}

// CorrelationFields lists the fields of [Correlation] in the order that
// tables have them. It is the one place that names them; codec, tables and
// documentation are driven by it. The slice must not be changed.
var CorrelationFields = []CorrelationField{
	{"tenant", "tenant", func(c *Correlation) *string { return &c.Tenant }},
	{"agent", "agent", func(c *Correlation) *string { return &c.Agent }},
	{"resourceid", "resource_id", func(c *Correlation) *string { return &c.ResourceID }},
	{"runtimeid", "runtime_id", func(c *Correlation) *string { return &c.RuntimeID }},
	{"sessionid", "session_id", func(c *Correlation) *string { return &c.SessionID }},
	{"threadid", "thread_id", func(c *Correlation) *string { return &c.ThreadID }},
	{"turnid", "turn_id", func(c *Correlation) *string { return &c.TurnID }},
	{"taskid", "task_id", func(c *Correlation) *string { return &c.TaskID }},
	{"runid", "run_id", func(c *Correlation) *string { return &c.RunID }},
	{"attemptid", "attempt_id", func(c *Correlation) *string { return &c.AttemptID }},
	{"stepid", "step_id", func(c *Correlation) *string { return &c.StepID }},
	{"toolcallid", "tool_call_id", func(c *Correlation) *string { return &c.ToolCallID }},
	{"actionid", "action_id", func(c *Correlation) *string { return &c.ActionID }},
	{"evidenceid", "evidence_id", func(c *Correlation) *string { return &c.EvidenceID }},
	{"contextid", "context_id", func(c *Correlation) *string { return &c.ContextID }},
	{"parentrunid", "parent_run_id", func(c *Correlation) *string { return &c.ParentRunID }},
	{"rootrunid", "root_run_id", func(c *Correlation) *string { return &c.RootRunID }},
}

package claudecode

// recordClass is the meaning of a record for an import.
type recordClass int

const (
	classUnknown recordClass = iota
	classIgnored             // no context facts
	classMessage             // user, assistant
	classCompaction
	classElision
	classAttachment
	classRequest // the requests to the model, see requests
	classCost
)

// claudeTypes classifies the record types of Claude Code 2.0 and 2.1 and of related versions.
// Records of type system are listed with their subtype.
var claudeTypes = map[string]recordClass{
	"user":                         classMessage,
	"assistant":                    classMessage,
	"system:compact_boundary":      classCompaction,
	"system:microcompact_boundary": classElision,
	"attachment":                   classAttachment,
	"api-request":                  classRequest,
	"api-request-shape":            classRequest,
	"api-request-blob":             classRequest,
	"cost-state":                   classCost,

	"progress":                   classIgnored,
	"file-history-snapshot":      classIgnored,
	"queue-operation":            classIgnored,
	"summary":                    classIgnored, // a title for lists of sessions
	"custom-title":               classIgnored,
	"ai-title":                   classIgnored,
	"tag":                        classIgnored,
	"last-prompt":                classIgnored,
	"permission-mode":            classIgnored,
	"mode":                       classIgnored,
	"agent-name":                 classIgnored,
	"agent-color":                classIgnored,
	"agent-setting":              classIgnored,
	"pr-link":                    classIgnored,
	"worktree-state":             classIgnored,
	"task-summary":               classIgnored,
	"attribution-snapshot":       classIgnored,
	"speculation-accept":         classIgnored,
	"tools-used":                 classIgnored,
	"atis-latch":                 classIgnored,
	"system:stop_hook_summary":   classIgnored,
	"system:turn_duration":       classIgnored,
	"system:local_command":       classIgnored,
	"system:api_error":           classIgnored,
	"system:api_metrics":         classIgnored,
	"system:informational":       classIgnored,
	"system:init":                classIgnored,
	"system:away_summary":        classIgnored,
	"system:bridge_status":       classIgnored,
	"system:memory_saved":        classIgnored,
	"system:agents_killed":       classIgnored,
	"system:permission_retry":    classIgnored,
	"system:scheduled_task_fire": classIgnored,
}

// kind returns the record's type, with the subtype of system records.
func (r *claudeRecord) kind() string {
	if r.Type == "system" {
		return r.Type + ":" + r.Subtype
	}
	return r.Type
}

package chsql

// ClickHouse's error codes that a caller decides by. They are the server's own numbers.
const (
	CodeNoSuchColumn      = 16
	CodeUnknownIdentifier = 47
	CodeTypeMismatch      = 53
	CodeUnknownTable      = 60
	CodeSyntaxError       = 62
	CodeUnknownDatabase   = 81
	CodeIncorrectData     = 117
	CodeRowsLimit         = 158
	CodeTimeoutExceeded   = 159
	CodeReadonly          = 164
	CodeMemoryLimit       = 241
	CodeEarlierQuorum     = 286 // an earlier insert has not reached all replicas
	CodeProhibited        = 392
	CodeResultLimit       = 396
	CodeConstraint        = 452
	CodeUnknownParameter  = 456
	CodeBadParameter      = 457
	CodeAccessDenied      = 497
)

// Package wire has the commands that record agents as they talk to their models: capture and run.
// [Serve] is the same recording for `up`. [NewTelemetry] takes OpenTelemetry for `up` and `serve`.
package wire

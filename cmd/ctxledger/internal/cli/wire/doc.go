// Package wire has the commands that record agents as they talk to their models: capture and run.
package wire

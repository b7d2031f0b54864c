// Package facts converts the plan of a model call to facts, without effects. The facts are
// the selection, the placements of the blocks, and the usage of the window by layer. The
// usage includes the changes since the previous call with the same prompt cache. A fact
// that is too large for one event has several parts.
package facts

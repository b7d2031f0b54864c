// Package ask has the commands that answer questions: query, window, why, diff, report and
// tail.
package ask

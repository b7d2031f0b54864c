// Package ask has the commands that answer questions: query, window, why, diff and tail.
package ask

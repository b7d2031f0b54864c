// Package record has the commands that record facts: import and publish.
package record

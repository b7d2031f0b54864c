// Package prove has the commands of the transparency log: its key, its signed tree
// heads, their consistency and their witnesses.
package prove

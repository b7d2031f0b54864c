// Package connect is the command `connect`: addresses and credentials to paste.
package connect

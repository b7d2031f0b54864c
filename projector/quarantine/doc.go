// Package quarantine keeps the messages that the projector quarantines.
//
// Each message has a row in the table quarantine, and a copy with its exact bytes and
// headers in the quarantine stream, see [Publish]. [Replay] publishes such a message
// again, and [ReplayFixed] an event in its place. [Preview] lists the messages that
// today's rules would quarantine and older rules did not.
package quarantine

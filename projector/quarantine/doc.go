// Package quarantine keeps the messages that the projector quarantines.
//
// Each message has a row in the table quarantine, and a copy in the quarantine stream with its
// exact bytes and headers; see [Publish]. Its tenant gets a notice; see [Notify]. [Replay]
// publishes a copy again, and [ReplayFixed] publishes a corrected event. [Preview] lists the
// messages that the newest rules would quarantine and older rules accepted.
package quarantine

// Package proxy forwards the requests of agents to their providers unchanged, and gives copies
// of the exchanges to a capture.Recorder.
//
//	Gateway   by base URL: /NAME/… goes to the upstream of this name
//	Forward   as an HTTPS proxy: ends TLS for the hosts of providers, tunnels all others
//
// # Transparency
//
// Method, raw target, status, the values of each header and the bodies are equal in both
// directions. No header is added. Each chunk is flushed as it comes. A client that leaves aborts
// its request upstream, and a response that breaks off breaks off for the client too. Hop-by-hop
// headers, the order between names, the reason phrase and the borders of chunks may change.
// A request that meets a connection which the provider closes is sent once more on another one,
// as long as no byte of an answer came and the provider had no time to work on it.
// A WebSocket passes with its compression as it is, and a copy of its bytes is read in the
// background. Other connections that change their protocol pass unread; they are counted.
//
// # Certificates
//
// An [Authority] is made for one run. Its key stays in memory. Only its certificate is written,
// for the environment of the child process. A client that trusts only certificates of its provider
// fails once; its later connections to that provider pass unread, see [Forward.Pinned].
package proxy

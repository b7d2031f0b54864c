// Package status says over HTTP how a process that projects is:
//
//	/metrics  what it has done and how far it is behind, for Prometheus
//	/healthz  200 while the process is to be left alone, 503 when ending it is
//	          the cure: a projector has work and makes no step
//	/readyz   200 while its part is done: it projects, or stands by for the one
//	          that does; 503 with the reasons when it does not
//
// Both probes answer with JSON, which names servers, steps and error codes, and
// nothing of an event and no address. That a server is down is no reason to end
// the process, which waits for it; so /healthz does not ask any server.
package status

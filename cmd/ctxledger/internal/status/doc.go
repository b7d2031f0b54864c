// Package status reports over HTTP the state of a process that projects:
//
//	/metrics  counters and lag, for Prometheus
//	/healthz  200 while the process is healthy, 503 when it should be ended:
//	          a projector has work and makes no step
//	/readyz   200 while each stream is projected, or another process holds its
//	          lease, both servers answer, and no key is missing that redactions
//	          name; else 503 with the reasons, within two seconds. A projector
//	          whose steps have failed for ten seconds does not project
//
// Both probes answer with JSON. The JSON names servers, steps and error codes, but no event and
// no address. The process waits for a server that is down, so /healthz asks no server.
package status

package bench

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// Processes holds a figure for each process; nil is unknown.
type Processes struct {
	Client     *float64 `json:"client"` // the process of the raw copy or the projector
	NATS       *float64 `json:"nats"`
	ClickHouse *float64 `json:"clickhouse"`
}

// each returns pointers to the figures, in the order of pids.
func (p *Processes) each() [3]**float64 {
	return [3]**float64{&p.Client, &p.NATS, &p.ClickHouse}
}

// pids returns the measured processes. Between ways, this process is the client.
func (s *servers) pids() [3]int {
	client := os.Getpid()
	if s.client != nil {
		client = s.client.pid()
	}
	return [3]int{client, s.child.pid(), s.engine.EnginePID()}
}

// cpuSeconds returns the CPU time of each process, user and system.
func (s *servers) cpuSeconds() (p Processes) { return s.read(cpuSeconds) }

// peakBytes returns the highest resident memory of each process since resetPeaks.
func (s *servers) peakBytes() (p Processes) { return s.read(peakBytes) }

func (s *servers) read(figure func(pid int) (float64, bool)) (p Processes) {
	pids := s.pids()
	for i, at := range p.each() {
		if value, ok := figure(pids[i]); ok {
			*at = &value
		}
	}
	return p
}

// resetPeaks resets the figures of peakBytes. resetPeaks first frees unused memory of this
// process, to leave the memory to the measured processes.
func (s *servers) resetPeaks() {
	debug.FreeOSMemory()
	for _, pid := range s.pids() {
		// If the kernel refuses, the peaks include earlier rounds.
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
	}
}

// minus returns the differences of the figures that are known in both.
func (p Processes) minus(o Processes) (d Processes) {
	return p.combine(o, func(a, b float64) float64 { return a - b })
}

// times multiplies every figure by f.
func (p Processes) times(f float64) Processes {
	return p.combine(p, func(a, _ float64) float64 { return a * f })
}

func (p Processes) combine(o Processes, f func(a, b float64) float64) (d Processes) {
	a, b, to := p.each(), o.each(), d.each()
	for i := range to {
		if *a[i] != nil && *b[i] != nil {
			value := f(**a[i], **b[i])
			*to[i] = &value
		}
	}
	return d
}

// ticks is the number of ticks per second of CPU times in /proc, on all supported architectures.
const ticks = 100

// cpuSeconds reads the fields utime and stime. They are the 14th and 15th field of a line whose
// 2nd field is a name in brackets.
func cpuSeconds(pid int) (float64, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0, false
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	return float64(user+system) / ticks, err1 == nil && err2 == nil
}

func peakBytes(pid int) (float64, bool) { return statusBytes(pid, "VmHWM:") }

func residentBytes(pid int) (float64, bool) { return statusBytes(pid, "VmRSS:") }

func statusBytes(pid int, name string) (float64, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return float64(kib) * 1024, err == nil
		}
	}
	return 0, false
}

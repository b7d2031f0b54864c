package status

import (
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/metrics"
	"github.com/ctxledger/ctxledger/schema"
)

// Build is the version and the revision of the program.
type Build struct{ Version, Revision string }

// ReadBuild returns the build information in this program.
func ReadBuild() Build {
	b := Build{Version: "(devel)"}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Revision = s.Value
			}
		}
	}
	return b
}

// NewRegistry returns a registry with the metrics of the projectors, the build,
// the process and the Go runtime.
func NewRegistry(m *metrics.Metrics) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(m, buildInfo(), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

func buildInfo() prometheus.Collector {
	b := ReadBuild()
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "ctxledger_build_info", Help: "1; the labels hold the versions of the build, the contract and the projection.",
		ConstLabels: prometheus.Labels{
			"version": b.Version, "revision": b.Revision, "goversion": runtime.Version(),
			"contract": schema.Version, "projection": strconv.Itoa(int(ledger.NewestRules)),
		},
	})
	g.Set(1)
	return g
}

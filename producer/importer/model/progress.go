package model

// progressStep is the number of bytes between two calls of Options.Progress.
const progressStep = 1 << 20

type progress struct {
	report      func(bytesRead, total int64)
	total, last int64
}

func newProgress(report func(bytesRead, total int64), total int64) *progress {
	return &progress{report: report, total: total}
}

func (p *progress) At(read int64) {
	if p.report != nil && read-p.last >= progressStep {
		p.last = read
		p.report(min(read, p.total), p.total)
	}
}

func (p *progress) done() {
	if p.report != nil {
		p.report(p.total, p.total)
	}
}

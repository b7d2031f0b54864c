package verify

import (
	"bytes"
	"slices"

	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// derivation derives the documents again from the records and compares them with the pack.
type derivation struct {
	v        *verifier
	comparer *document.Comparer // nil if nothing can be derived
	err      error              // the error that ended the derivation
}

// derivationImpossible reports why the documents cannot be compared.
func (v *verifier) derivationImpossible(reason string) {
	v.found.settle(Derivation, NotChecked, "%s", reason)
}

func (v *verifier) newDerivation() *derivation {
	d := &derivation{v: v}
	if v.header.RedactIDs {
		v.derivationImpossible("the documents contain pseudonyms, which cannot be derived from the records")
		return d
	}
	var err error
	if d.comparer, err = document.NewComparer(v.pack.FS(), v.header); err != nil {
		v.found.faultf(Derivation, pack.HeaderFile, 1, "%v", err)
		d.comparer = nil
	}
	return d
}

func (d *derivation) add(read *document.Reading, log int) {
	if d.comparer != nil && d.err == nil {
		d.err = d.comparer.AddRead(log-1, read)
	}
}

// finish reports documents that differ from the derivation. Changed records get faults at the
// records. In this case, documents that match the manifest get no fault.
func (d *derivation) finish(damaged int64) error {
	if d.comparer == nil {
		return checkPage(d.v, nil)
	}
	summary, differences, err := d.comparer.Close()
	if err != nil {
		return err
	}
	v := d.v
	altered := damaged > 0 || v.changed[pack.EventsFile]
	times := make(map[string]int)
	for _, x := range differences {
		times[x.File]++
	}
	for _, x := range differences {
		switch {
		case altered && !v.changed[x.File] || !v.pack.Has(x.File):
		case times[x.File] > 1:
			// The parts of the file are not in their places, so line numbers mean nothing.
			v.found.faultf(Derivation, x.File, 0, "this differs from the derived document")
		case x.Outside:
			v.found.faultf(Derivation, x.File, int64(x.Line), "%s", x.Problem)
		default:
			v.found.faultf(Derivation, x.File, int64(x.Line), "%s (after the record with log index %d)", x.Problem, x.LogIndex)
		}
	}
	for _, file := range document.Files() {
		if !v.pack.Has(file) {
			v.found.faultf(Derivation, file, 0, "is missing")
		}
	}
	if altered {
		v.derivationImpossible("some records were altered, so unaltered documents were not compared")
		return checkPage(v, nil)
	}
	v.compareManifest(summary)
	if err := checkPage(v, d.comparer.Account().Figures()); err != nil {
		return err
	}
	v.facts.lacking = summary.Lacking
	v.found.settle(Derivation, Passed, "files that match the derivation from the records: %d", len(document.Files())+1)
	return nil
}

// compareManifest compares the manifest without the listed sizes and digests. The question files
// covers sizes and digests.
func (v *verifier) compareManifest(summary document.Summary) {
	text, err := v.pack.ReadFile(pack.ManifestFile)
	if err != nil {
		return
	}
	listed, err := pack.ManifestFiles(text, v.pack.Limits().Files)
	if err != nil {
		return
	}
	want := bytes.SplitAfter(document.Manifest(v.header, summary, slices.Clone(listed)), []byte("\n"))
	for i, got := range bytes.SplitAfter(text, []byte("\n")) {
		if i >= len(want) || !bytes.Equal(got, want[i]) {
			line := int64(i + 1)
			if !v.trusted {
				line = 0 // the listed entries and their order may have been changed
			}
			v.found.faultf(Derivation, pack.ManifestFile, line, "this differs from the derived document")
			return
		}
	}
}

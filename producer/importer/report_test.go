package importer

import (
	"reflect"
	"testing"

	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
)

// TestReportsAreKept: a report that was kept counts like the report itself, also after a merge with
// the report of a log that shares ids.
func TestReportsAreKept(t *testing.T) {
	t.Parallel()
	files, problems := Files("testdata", model.FormatAuto)
	if len(files) < 10 || len(problems) > 0 {
		t.Fatal(files, problems)
	}
	var want, got model.Report
	for _, file := range append(files, files[0]) {
		report, err := ImportFile(t.Context(), model.FormatAuto, file, model.Options{}, func(*schema.Event) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		text, err := report.Kept()
		if err != nil {
			t.Fatal(err)
		}
		restored, err := model.Restored(text)
		if err != nil {
			t.Fatal(err)
		}
		want.Merge(report)
		got.Merge(restored)
	}
	want.FindLacks()
	got.FindLacks()
	if want.Calls < 10 || want.Sessions < 5 || len(want.Problems) == 0 || len(want.Unknown) == 0 {
		t.Errorf("the logs have only %+v", want)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("kept reports give\n%+v\nnot\n%+v", got, want)
	}
	if _, err := model.Restored([]byte("damaged")); err == nil {
		t.Error("a damaged report is restored")
	}
}

package mix

import "github.com/ctxledger/ctxledger/schema"

// measure holds the frequency of a type in real streams and the size of its data.
type measure struct {
	Type schema.Type
	// LiveShare and ImportedShare are the events of the type per thousand events.
	LiveShare, ImportedShare float64
	// LiveBytes and ImportedBytes are the mean sizes of the data; 0 if the type did not occur.
	LiveBytes, ImportedBytes int
}

// measured is the source of the ratios. The live figures come from one `ctxledger demo`, a
// scripted agent with real files. The imported figures come from `ctxledger import claude-code`
// with real sessions. Types that are not listed did not occur.
var measured = []measure{
	{schema.TypeItemAdded, 182.5, 436.4, 457, 627},
	{schema.TypeLogAppended, 163.5, 436.4, 390, 547},
	{schema.TypeInjectionApplied, 90.5, 0, 552, 0},
	{schema.TypeSurfaceCreated, 84.1, 0, 516, 0},
	{schema.TypeSelectionCompleted, 84.1, 0, 1865, 0},
	{schema.TypeBudgetApplied, 84.1, 0, 1249, 0},
	{schema.TypeAssemblyCreated, 84.1, 0, 3947, 0},
	{schema.TypeUsageRecorded, 84.1, 120.4, 495, 1162},
	{schema.TypeResourceAccessed, 74.6, 0, 275, 0},
	{schema.TypePressureApplied, 23.8, 0, 353, 0},
	{schema.TypeRedactionApplied, 9.5, 0, 544, 0},
	{schema.TypeEnvelopeCreated, 7.9, 0, 1604, 0},
	{schema.TypeInjectionRemoved, 4.8, 0, 295, 0},
	{schema.TypeElisionApplied, 4.8, 0.6, 1259, 4604},
	{schema.TypeScopeOpened, 3.2, 1.7, 382, 491},
	{schema.TypeSummaryCreated, 3.2, 2.3, 624, 717},
	{schema.TypeCompactionCompleted, 3.2, 2.3, 933, 5156},
	{schema.TypeGrantIssued, 1.6, 0, 181, 0},
	{schema.TypeGrantNarrowed, 1.6, 0, 217, 0},
	{schema.TypeGrantDenied, 1.6, 0, 278, 0},
	{schema.TypeMissingDetected, 1.6, 0, 490, 0},
	{schema.TypeMissingRequested, 1.6, 0, 496, 0},
}

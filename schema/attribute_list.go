package schema

// FromAttributes returns the event that has these attributes, in canonical
// string form as [Event.Attributes] writes them, and this data, which it
// aliases. A list of one event gives that event again. The error is a
// [*Violation] that names the attribute.
func FromAttributes(list []Attribute, data []byte) (*Event, error) {
	e := &Event{Data: data}
	for _, a := range list {
		if err := e.Set(a.Name, a.Value); err != nil {
			return nil, &Violation{CodeAttribute, "/" + pointerToken(Clip(a.Name)), err.Error(), "correct the attribute"}
		}
	}
	return e, e.checkEnvelope()
}

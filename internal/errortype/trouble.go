package errortype

// Trouble is what is waited for in vain: the type of the error and the error in
// words. Its zero value is none. A failure that the next attempt mends is none either.
type Trouble struct {
	Type  string `json:"type"`
	Error string `json:"error"`
}

// OrNil is the trouble as a status document has it: null where there is none.
func (t Trouble) OrNil() *Trouble {
	if t.Type == "" {
		return nil
	}
	return &t
}

// longest bounds the type, which is the value of a search attribute, in bytes.
const longest = 100

// Typed gives trouble a type that can be shown: an error of another's code may have
// none, or one of any length.
func (t Trouble) Typed() Trouble {
	if t.Type == "" && t.Error != "" {
		t.Type = "Error"
	}
	t.Type = t.Type[:min(len(t.Type), longest)]
	return t
}

package jobchain

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/jmespath/go-jmespath"
)

// unordered are the parts of JMESPath whose result has no fixed order: another
// order on replay would be another input. They are found in the printed form of
// the parsed expression, the only one that the library shows, where every node
// is a line of its own and strings are quoted.
var unordered = []struct {
	form *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`(?m)^\s*ASTValueProjection \{$`), "an object wildcard"},
	{regexp.MustCompile(`(?m)^\s*ASTFunctionExpression \{\n\s*value: "keys"$`), "keys()"},
	{regexp.MustCompile(`(?m)^\s*ASTFunctionExpression \{\n\s*value: "values"$`), "values()"},
}

// jobReference is an expression that begins with the output of one job.
var jobReference = regexp.MustCompile(`^\s*jobs\s*\.\s*([A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)*")`)

// check tells what is wrong with the expression whatever the data.
func (e expression) check() error {
	if !e.isText {
		return errors.New("a JMESPath expression is a string")
	}
	return checkOrdered(e.text)
}

// job is the ID of the job whose output the expression begins with.
func (e expression) job() (id string, refers bool) {
	match := jobReference.FindStringSubmatch(e.text)
	if match == nil {
		return "", false
	}
	if strings.HasPrefix(match[1], `"`) {
		err := json.Unmarshal([]byte(match[1]), &id)
		return id, err == nil
	}
	return match[1], true
}

// checkOrdered refuses what is not an expression or has no fixed order.
func checkOrdered(text string) (err error) {
	defer refuse(text, &err)
	tree, err := jmespath.NewParser().Parse(text)
	if err != nil {
		return fmt.Errorf("%q is not a JMESPath expression: %w", text, err)
	}
	if !strings.ContainsAny(text, "*(") {
		return nil
	}
	printed := tree.PrettyPrint(0)
	for _, u := range unordered {
		if u.form.MatchString(printed) {
			return fmt.Errorf("%q: %s has no fixed order; name the fields", text, u.name)
		}
	}
	return nil
}

// evaluate returns the expression's value. JMESPath says null for what is not
// there; a job is never given a null that nobody put there.
//
// An *InexactError comes with the value that the library found all the same.
func evaluate(text string, data *Data) (value any, err error) {
	if err := checkOrdered(text); err != nil {
		return nil, err
	}
	value, err = search(text, data.root)
	if data.inexact() && reckons.MatchString(text) {
		other, otherErr := search(text, data.rounded())
		if (err == nil) != (otherErr == nil) || (err == nil && !reflect.DeepEqual(rounded(value), other)) {
			return value, &InexactError{Expression: text, found: err == nil && value != nil}
		}
	}
	if err == nil && value == nil && !holdsNull(text, data.root) {
		err = fmt.Errorf("%q: there is no such value", text)
	}
	return value, err
}

func search(text string, root map[string]any) (value any, err error) {
	defer refuse(text, &err)
	compiled, err := jmespath.Compile(text)
	if err != nil {
		return nil, err
	}
	var data any = root
	if strings.Contains(text, "sort_by") {
		data = copied(data) // the library sorts in place, and later jobs see the same data
	}
	if value, err = compiled.Search(data); err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return value, nil
}

// reckons finds what may depend on the value of a number: comparisons and the
// functions that take numbers. Where it finds too much, nothing is lost but time.
var reckons = regexp.MustCompile(`[<>=]|\b(?:abs|avg|ceil|contains|floor|max|max_by|min|min_by|sort|sort_by|sum|to_number|type)\s*\(`)

// InexactError is the error of an expression that compares or reckons with a
// number that the library can't hold as it is written.
type InexactError struct {
	Expression string
	found      bool
}

func (e *InexactError) Error() string {
	return fmt.Sprintf("%q: a number that float64 can't hold exactly, or written with an exponent, can be passed on but not compared or reckoned with", e.Expression)
}

// plainPath is an expression of field names only.
var plainPath = regexp.MustCompile(`^\s*(?:[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)*")(?:\s*\.\s*(?:[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)*"))*\s*$`)

var fieldName = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)*"`)

// holdsNull reports that a plain path leads to a null that is really there, as
// the output of a job that was skipped.
func holdsNull(text string, data map[string]any) bool {
	if !plainPath.MatchString(text) {
		return false
	}
	var at any = data
	for _, name := range fieldName.FindAllString(text, -1) {
		if strings.HasPrefix(name, `"`) && json.Unmarshal([]byte(name), &name) != nil {
			return false
		}
		object, ok := at.(map[string]any)
		if !ok {
			return false
		}
		if at, ok = object[name]; !ok {
			return false
		}
	}
	return at == nil
}

// refuse turns a panic of the expression library into an error: an expression
// is a person's input, and a panic would block the workflow for ever.
func refuse(text string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%q can't be evaluated: %v", text, p)
	}
}

package jobchain

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
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
func evaluate(text string, data Data) (value any, err error) {
	defer refuse(text, &err)
	if err := checkOrdered(text); err != nil {
		return nil, err
	}
	compiled, err := jmespath.Compile(text)
	if err != nil {
		return nil, err
	}
	root := any(map[string]any(data))
	if strings.Contains(text, "sort_by") {
		root = copied(root) // the library sorts in place, and later jobs see the same data
	}
	value, err = compiled.Search(root)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	if value == nil && !holdsNull(text, data) {
		return nil, fmt.Errorf("%q: there is no such value", text)
	}
	return value, nil
}

// plainPath is an expression of field names only.
var plainPath = regexp.MustCompile(`^\s*(?:[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)*")(?:\s*\.\s*(?:[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)*"))*\s*$`)

var fieldName = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)*"`)

// holdsNull reports that a plain path leads to a null that is really there, as
// the output of a job that was skipped.
func holdsNull(text string, data Data) bool {
	if !plainPath.MatchString(text) {
		return false
	}
	var at any = map[string]any(data)
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

// exact reads JSON for the expression library, which compares and adds float64s
// only. A number that a float64 would not give back as it was stays a
// json.Number, which passes through untouched.
func exact(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	tree, err := parse(raw)
	if err != nil {
		return nil
	}
	return floats(tree)
}

func floats(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v { // order does not matter: each value is replaced for itself
			v[key] = floats(v[key])
		}
	case []any:
		for i := range v {
			v[i] = floats(v[i])
		}
	case json.Number:
		if f, ok := asFloat(string(v)); ok {
			return f
		}
	}
	return v
}

func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for key, value := range v { // order does not matter: a map is copied into a map
			c[key] = copied(value)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i := range v {
			c[i] = copied(v[i])
		}
		return c
	default:
		return v
	}
}

// asFloat converts a number that comes back with the same value. Exponents and
// very long numbers are left alone: comparing them exactly can cost any memory.
func asFloat(text string) (float64, bool) {
	const longest = 40
	if len(text) > longest || strings.ContainsAny(text, "eE") {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false
	}
	was, okWas := new(big.Rat).SetString(text)
	is, okIs := new(big.Rat).SetString(strconv.FormatFloat(f, 'f', -1, 64))
	return f, okWas && okIs && was.Cmp(is) == 0
}

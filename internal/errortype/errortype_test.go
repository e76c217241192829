package errortype

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every type is either worth repeating or final, and what others call their errors
// is neither.
func TestEveryTypeIsEitherRetryableOrFinal(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "errortype.go", nil, 0)
	require.NoError(t, err)
	types := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			literal, isLiteral := spec.Values[0].(*ast.BasicLit)
			require.True(t, isLiteral)
			name, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			require.Equal(t, spec.Names[0].Name, name)
			require.NotEqual(t, Retryable(name), Final(name), name)
			types++
		}
		return true
	})
	require.Greater(t, types, 10)
	require.False(t, Retryable("SomebodyElses"))
	require.False(t, Final("SomebodyElses"))
}

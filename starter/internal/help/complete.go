package help

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Shells are those that completion is made for.
var Shells = []string{"bash", "zsh", "fish"}

// Script has the shell ask the program itself what may come next.
func Script(shell string) (string, error) {
	switch shell {
	case "bash":
		return `_starter() { COMPREPLY=($(compgen -W "$(starter completion words "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}")); }
complete -o default -F _starter starter
`, nil
	case "zsh":
		return `#compdef starter
_starter() { local -a w; w=(${(f)"$(starter completion words "${(@)words[2,CURRENT-1]}" 2>/dev/null)"}); compadd -a w || _files }
compdef _starter starter
`, nil
	case "fish":
		return `complete -c starter -a '(starter completion words (commandline -opc)[2..] 2>/dev/null)'
`, nil
	default:
		return "", fmt.Errorf("no completion for %q; there is one for %s", shell, strings.Join(Shells, ", "))
	}
}

// Words are what may come next behind these: commands, and the flags of the one
// that was chosen, its own before the program's.
func Words(app *kong.Application, given []string) []string {
	node := app.Node
	for _, word := range given {
		for _, child := range node.Children {
			if child.Type == kong.CommandNode && child.Name == word {
				node = child
				break
			}
		}
	}
	var words []string
	for _, child := range node.Children {
		if !child.Hidden {
			words = append(words, child.Name)
		}
	}
	slices.Sort(words)
	for ; node != nil; node = node.Parent {
		for _, flag := range node.Flags {
			if !flag.Hidden {
				words = append(words, "--"+flag.Name)
			}
		}
	}
	return words
}

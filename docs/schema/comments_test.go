package schema

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
)

// comments are what the source says of types and their fields, by package path,
// type and field.
type comments map[string]string

func (c comments) of(t reflect.Type, field string) string {
	words := c[t.PkgPath()+"."+t.Name()+"."+field]
	if field == "" {
		field = t.Name()
	}
	for _, goes := range []string{field + " ", "is "} { // a comment begins with the name
		words = strings.TrimPrefix(words, goes)
	}
	if words == "" {
		return ""
	}
	return strings.ToUpper(words[:1]) + words[1:]
}

// read adds what the source of a package of the module says. It is read once.
func (c comments) read(packagePath string) error {
	if _, known := c[packagePath]; known || packagePath == "" || !strings.HasPrefix(packagePath, "sluice") {
		return nil
	}
	c[packagePath] = ""
	folder := filepath.Join("../..", strings.TrimPrefix(strings.TrimPrefix(packagePath, "sluice"), "/"))
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return err
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		c.file(packagePath, file)
	}
	return nil
}

func (c comments) file(packagePath string, file *ast.File) {
	for _, d := range file.Decls {
		declaration, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range declaration.Specs {
			spec, ok := s.(*ast.TypeSpec)
			if !ok {
				continue
			}
			doc := spec.Doc
			if doc == nil {
				doc = declaration.Doc
			}
			name := packagePath + "." + spec.Name.Name + "."
			c[name] = text(doc)
			if structure, ok := spec.Type.(*ast.StructType); ok {
				c.fields(name, structure)
			}
		}
	}
}

func (c comments) fields(name string, structure *ast.StructType) {
	for _, f := range structure.Fields.List {
		words := strings.TrimSpace(text(f.Doc) + " " + text(f.Comment))
		for _, field := range f.Names {
			c[name+field.Name] = words
		}
	}
}

func text(group *ast.CommentGroup) string {
	return strings.Join(strings.Fields(group.Text()), " ")
}

// readAll reads the packages of a type and of all that it holds.
func (c comments) readAll(t reflect.Type, seen map[reflect.Type]bool) error {
	if seen[t] {
		return nil
	}
	seen[t] = true
	if err := c.read(t.PkgPath()); err != nil {
		return err
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return c.readAll(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if err := c.readAll(t.Field(i).Type, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

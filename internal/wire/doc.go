// Package wire is what crosses between workflows, their activities and their
// clients: the names of workflows, messages, activities, error types and search
// attributes, each spelt here once, workflow IDs with the functions that take them
// apart, and the documents. It knows no SDK.
package wire

// Package ingest is what the main job needs beyond the activities of the single
// systems: the manifest, the tasks and the comparison at the end.
package ingest

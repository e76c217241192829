// Package ingest is the main job: claiming, requests, producing, counting and
// quiescence at once.
package ingest

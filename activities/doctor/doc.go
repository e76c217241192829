// Package doctor looks at the outside world as a worker sees it, for people who
// ask why something does not work: region, credentials, and whether tables,
// streams, buckets and queues can be reached. It changes nothing.
package doctor

package wire

// About says in one sentence what a workflow of a type does: the static details that
// the Web UI shows.
func About(workflowType string) string {
	switch workflowType {
	case TypeRequest:
		return "Runs a chain of jobs that can be suspended, resumed and stopped; a job that fails is tried again as its document says."
	case TypeResumeSuspended:
		return "Resumes suspended requests in random order, each claimed first, so that none is resumed twice."
	case TypeThroughput:
		return "Shares the capacity of one table or index among all workers. It ends by itself when nobody has used it for ten minutes."
	case TypeProducer:
		return "Buffers records in front of a stream and sends them in order by key, through any outage, until it is cancelled."
	case TypeQuiescence:
		return "Watches a target until nothing new has come for a while, then does what follows."
	case TypeCountObjects:
		return "Counts the objects that S3 announces on a queue, each once, in a table."
	case TypeClaimTasks:
		return "Claims tasks from Azure queues and runs each as a workflow Task, so many at once at most."
	case TypeTask:
		return "One run of a claimed task: it does the work as its child, keeps the claim alive and reports the outcome."
	case TypeIngest:
		return "Streams every object under a prefix to Kinesis, waits until all is delivered, and compares it record by record."
	default:
		return ""
	}
}

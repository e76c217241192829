// Package azurequeue calls the queues of an Azure storage account, by its
// credentials or by signed URLs, and tells their errors in our types.
package azurequeue

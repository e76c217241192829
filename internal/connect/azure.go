package connect

import (
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
)

// ErrNoAzure means that no access to Azure queues is configured.
var ErrNoAzure = errors.New("no Azure queues: set AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_QUEUE_URL with a default Azure credential")

// AzureQueues makes the client of the queue service, or fails with ErrNoAzure.
func AzureQueues(c AzureConfig) (*azqueue.ServiceClient, error) {
	// The SDK appends to the options it is handed: fresh ones for each client.
	options := &azqueue.ClientOptions{}
	switch {
	case c.ConnectionString != "":
		client, err := azqueue.NewServiceClientFromConnectionString(c.ConnectionString, options)
		if err != nil {
			// Its message may quote the string, which holds the account key.
			return nil, errors.New("AZURE_STORAGE_CONNECTION_STRING is not a connection string of a storage account")
		}
		return client, nil
	case c.QueueURL != "":
		credential, err := azidentity.NewDefaultAzureCredential(nil)
		if err != nil {
			return nil, fmt.Errorf("default Azure credential: %w", err)
		}
		return azqueue.NewServiceClient(c.QueueURL, credential, options)
	default:
		return nil, ErrNoAzure
	}
}

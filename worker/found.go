package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"go.uber.org/zap"

	"sluice"
	"sluice/internal/connect"
)

// lookTimeout is how long the start waits for what is looked up for the first line.
const lookTimeout = 2 * time.Second

// tellFound logs, as the first line, what the worker is and what it found.
func tellFound(ctx context.Context, c sluice.Config, made *sluice.Clients, logger *zap.Logger) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	var amazon, deployment []zap.Field
	var looks sync.WaitGroup
	looks.Go(func() { amazon = foundAWS(ctx, made) })
	looks.Go(func() { deployment = foundDeployment(ctx, c, made) })
	looks.Wait()
	fields := []zap.Field{
		zap.String("version", sluice.Version()), zap.String("temporal", made.Address), zap.String("namespace", made.Namespace),
		zap.String("taskQueue", c.TaskQueue),
	}
	fields = append(append(fields, deployment...), amazon...)
	fields = append(fields, zap.String("azure", foundAzure(made)), zap.String("encryption", foundEncryption(c)))
	if c.PayloadBucket != "" {
		fields = append(fields, zap.String("payloadBucket", c.PayloadBucket))
	}
	logger.Info("worker starts", fields...)
}

// foundDeployment is the version that the worker is of, and how to make it current.
func foundDeployment(ctx context.Context, c sluice.Config, made *sluice.Clients) []zap.Field {
	if c.Deployment == "" {
		return []zap.Field{zap.String("deployment", "none")}
	}
	fields := []zap.Field{zap.String("deployment", c.Deployment), zap.String("buildId", c.BuildID)}
	current, err := isCurrent(ctx, made.Temporal, c.Deployment, c.BuildID)
	if err != nil {
		return append(fields, zap.String("current", "not known: "+err.Error()))
	}
	if fields = append(fields, zap.Bool("current", current)); !current {
		fields = append(fields, zap.String("makeCurrent", currentCommand(c, made.Namespace)))
	}
	return fields
}

// currentCommand makes the worker's version the current one of its deployment.
func currentCommand(c sluice.Config, namespace string) string {
	return fmt.Sprintf("temporal worker deployment set-current-version --deployment-name %s --build-id %s --namespace %s --yes", c.Deployment, c.BuildID, namespace)
}

// foundAWS is the account and region that calls go to, or why there is none.
func foundAWS(ctx context.Context, made *sluice.Clients) []zap.Field {
	region := made.AWS.Region
	if region == "" {
		region = "none: set AWS_REGION"
	}
	return []zap.Field{zap.String("awsRegion", region), zap.String("awsAccount", foundAccount(ctx, made))}
}

func foundAccount(ctx context.Context, made *sluice.Clients) string {
	if _, err := made.AWS.Credentials.Retrieve(ctx); err != nil {
		return "none: no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile or a role (" + err.Error() + ")"
	}
	asked := sts.NewFromConfig(made.AWS, func(o *sts.Options) { o.RetryMaxAttempts = 1 })
	switch endpoint := asked.Options().BaseEndpoint; {
	case made.AWS.Region == "" && endpoint == nil:
		return "not asked: no region"
	case endpoint == nil && ownEndpoint(made):
		return "not asked: the services have endpoints of their own, and AWS_ENDPOINT_URL_STS is not set"
	}
	identity, err := asked.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "not known: " + err.Error()
	}
	return aws.ToString(identity.Account)
}

// ownEndpoint reports that calls go to other services than AWS's own: STS knows nothing
// of credentials for these.
func ownEndpoint(made *sluice.Clients) bool {
	return made.S3.Options().BaseEndpoint != nil || made.SQS.Options().BaseEndpoint != nil ||
		sluice.DynamoDB(made.AWS).Options().BaseEndpoint != nil
}

// foundAzure is the storage account whose queues are used.
func foundAzure(made *sluice.Clients) string {
	if made.Azure == nil {
		return connect.ErrNoAzure.Error()
	}
	u, err := url.Parse(made.Azure.URL())
	if err != nil {
		return "configured"
	}
	return strings.Trim(u.Host+u.Path, "/") // the account is the host's first part, or the path on an emulator
}

func foundEncryption(c sluice.Config) string {
	keys, err := connect.ParseKeys(c.EncryptionKey)
	if c.EncryptionKey == "" || err != nil {
		return "off"
	}
	return "on, with the key " + keys.First()
}

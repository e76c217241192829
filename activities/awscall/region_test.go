package awscall

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"
)

// A queue of another region than the worker's is asked there.
func TestQueuesAreAskedInTheRegionOfTheirURL(t *testing.T) {
	for url, want := range map[string]string{
		"https://sqs.eu-west-1.amazonaws.com/1/q":       "eu-west-1",
		"https://sqs.cn-north-1.amazonaws.com.cn/1/q":   "cn-north-1",
		"https://sqs-fips.us-west-2.amazonaws.com/1/q":  "us-west-2",
		"https://sqs.ap-south-1.api.aws/1/q":            "ap-south-1",
		"https://eu-central-1.queue.amazonaws.com/1/q":  "eu-central-1",
		"https://queue.amazonaws.com/1/q":               "us-east-1",
		"https://vpce-1.sqs.us-east-2.vpce.amazonaws/q": "us-east-1",
		"http://127.0.0.1:4566/1/q":                     "us-east-1",
		"http://localhost:4566/1/sqs.eu-west-1":         "us-east-1",
		"::":                                            "us-east-1",
	} {
		o := sqs.Options{Region: "us-east-1"}
		InRegionOf(url)(&o)
		require.Equal(t, want, o.Region, url)
	}
	o := sqs.Options{Region: "us-east-1", BaseEndpoint: aws.String("http://127.0.0.1:4566")}
	InRegionOf("https://sqs.eu-west-1.amazonaws.com/1/q")(&o)
	require.Equal(t, "us-east-1", o.Region, "an endpoint of one's own")
}

package kinesis

import (
	"context"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/smithy-go/middleware"

	"sluice/activities/awscall"
	"sluice/activities/internal/bodytest"
)

// A client may hide the bodies' writing already.
func TestKinesisBodiesDoNotWriteThemselves(t *testing.T) {
	for name, options := range map[string][]func(*middleware.Stack) error{"bare": nil, "hidden already": {awscall.AddPlainBodies}} {
		t.Run(name, func(t *testing.T) {
			body := []byte(`{"StreamName":"s","Records":[]}`)
			bodytest.PlainBody(t, body, func(client *http.Client) error {
				api := awskinesis.New(awskinesis.Options{Region: "r", BaseEndpoint: aws.String("http://127.0.0.1:1"), HTTPClient: client,
					Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), APIOptions: options})
				_, _, err := putBody(context.Background(), api, streamName{name: "s"}, body, nil)
				return err
			})
		})
	}
}

package dynamodb

import (
	"context"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"sluice/activities/internal/bodytest"
)

func TestDynamoDBBodiesDoNotWriteThemselves(t *testing.T) {
	body := []byte(`{"TableName":"t","Item":{"id":{"S":"1"}}}`)
	bodytest.PlainBody(t, body, func(client *http.Client) error {
		api := awsdynamodb.New(awsdynamodb.Options{Region: "r", BaseEndpoint: aws.String("http://127.0.0.1:1"), HTTPClient: client,
			Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
		w := rawBody{document: body, output: &awsdynamodb.PutItemOutput{}}
		_, err := api.PutItem(context.Background(), &awsdynamodb.PutItemInput{}, func(o *awsdynamodb.Options) {
			o.APIOptions = append(o.APIOptions, w.insert)
		})
		return err
	})
}

package activities

import (
	"context"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func TestDynamoDBBodiesDoNotWriteThemselves(t *testing.T) {
	body := []byte(`{"TableName":"t","Item":{"id":{"S":"1"}}}`)
	PlainBody(t, body, func(client *http.Client) error {
		api := dynamodb.New(dynamodb.Options{Region: "r", BaseEndpoint: aws.String("http://127.0.0.1:1"), HTTPClient: client,
			Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
		w := wire{document: body, output: &dynamodb.PutItemOutput{}}
		_, err := api.PutItem(context.Background(), &dynamodb.PutItemInput{}, func(o *dynamodb.Options) {
			o.APIOptions = append(o.APIOptions, w.insert)
		})
		return err
	})
}

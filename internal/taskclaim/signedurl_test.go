package taskclaim_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/taskclaim"
)

func TestPollURL(t *testing.T) {
	for signed, want := range map[string]string{
		"http://h/acct/q/messages?visibilitytimeout=300&sig=a%2Bb%3D": "http://h/acct/q/messages?visibilitytimeout=300&sig=a%2Bb%3D&numofmessages=5",
		"http://h/acct/q/messages":                                    "http://h/acct/q/messages?numofmessages=5",
	} {
		got, err := taskclaim.PollURL(signed, 5)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	got, err := taskclaim.PollURL("http://h/q?x=1", 100)
	require.NoError(t, err)
	require.Equal(t, "http://h/q?x=1&numofmessages=32", got)
}

func TestDeleteURLBringsEveryReceiptThrough(t *testing.T) {
	for _, template := range []string{
		"http://h/acct/q/messages/{{messageId}}?popreceipt={{popReceipt}}&sig=s%2Bs",
		"http://h/acct/q/messages/%7B%7BmessageId%7D%7D?popreceipt=%7B%7BpopReceipt%7D%7D&sig=s%2Bs",
	} {
		rapid.Check(t, func(t *rapid.T) {
			receipt := rapid.StringMatching(`[A-Za-z0-9+/= &%#]{1,40}`).Draw(t, "receipt")
			got, err := taskclaim.DeleteURL(template, "id-1", receipt)
			require.NoError(t, err)
			u, err := url.Parse(got)
			require.NoError(t, err)
			require.Equal(t, receipt, u.Query().Get("popreceipt"))
			require.Equal(t, "s+s", u.Query().Get("sig"))
			require.Equal(t, "/acct/q/messages/id-1", u.Path)
			require.NotContains(t, u.RawQuery, "+", "a space is %20")
		})
	}
}

func TestQueueName(t *testing.T) {
	for signed, want := range map[string]string{
		"http://127.0.0.1:1/acct/high/messages?sig=x":                              "high",
		"https://acct.queue.example/low/messages/{{messageId}}?popreceipt=x&sig=x": "low",
		"http://h/odd?sig=x": "odd",
	} {
		require.Equal(t, want, taskclaim.QueueName(signed))
	}
}

func TestURLErrorsDoNotQuoteTheURL(t *testing.T) {
	_, err := taskclaim.PollURL("http://h/%zz?sig=secret", 1)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
}

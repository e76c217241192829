package awscall

import (
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// InRegionOf has a call asked in the region that the URL of its queue names. The
// client's own would answer that there is no such queue, or about another one of
// the name. Addresses that are not AWS's, and clients with an endpoint of their
// own, stay as they are.
func InRegionOf(queueURL string) func(*sqs.Options) {
	return func(o *sqs.Options) {
		if region := regionOf(queueURL); region != "" && o.BaseEndpoint == nil {
			o.Region = region
		}
	}
}

// regionOf reads sqs.<region>.amazonaws.com, with its forms for FIPS, IPv6 and
// China, and the older <region>.queue.amazonaws.com.
func regionOf(queueURL string) string {
	u, err := url.Parse(queueURL)
	if err != nil {
		return ""
	}
	parts := strings.Split(u.Hostname(), ".")
	if len(parts) < 4 || (parts[2] != "amazonaws" && parts[2] != "api") {
		return ""
	}
	switch {
	case parts[0] == "sqs" || parts[0] == "sqs-fips":
		return parts[1]
	case parts[1] == "queue":
		return parts[0]
	}
	return ""
}

package awscall

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"sluice/activities"
	"sluice/internal/secret"
)

const (
	// renewing is for how long credentials that have worked, or are just expired, may
	// be refused before somebody has to look after them.
	renewing = 5 * time.Minute
	// arriving is for how long new ones may be unknown to a service.
	arriving = 15 * time.Second
)

// Access watches over a worker's credentials and clock, for all services at once.
// Where a service refuses a call for either, the credentials are fetched anew, the
// SDK learns the service's time from the answer, and the call is repeated at once.
// What is refused again is a *Refusal. A refused call has done nothing.
type Access struct {
	cache *aws.CredentialsCache
	now   func() time.Time

	mu      sync.Mutex
	worked  bool                 // some call has, with these credentials
	refused map[string]time.Time // the first refusal since the last success, by service
}

// Watch has all clients made of the configuration watched over.
func Watch(c *aws.Config) *Access {
	a := &Access{now: time.Now, refused: map[string]time.Time{}}
	cache, cached := c.Credentials.(*aws.CredentialsCache)
	if !cached && c.Credentials != nil {
		cache = aws.NewCredentialsCache(c.Credentials)
		c.Credentials = cache
	}
	a.cache = cache
	c.APIOptions = append(c.APIOptions, a.add)
	return a
}

// A Refusal is the refusal of a call for its credentials, its clock or its region,
// and the type of error that it is by now.
type Refusal struct {
	Type string // Unavailable or AccessDenied
	err  error
}

func (r *Refusal) Error() string { return r.err.Error() }

// Unwrap gives what the service said.
func (r *Refusal) Unwrap() error { return r.err }

// RefusalOf is the Refusal in err's chain, or nil.
func RefusalOf(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return nil
}

const accessID = "SluiceAccess"

func (a *Access) add(stack *middleware.Stack) error {
	if _, repeats := stack.Finalize.Get("Retry"); !repeats {
		return nil // a URL is signed, and nothing sent
	}
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc(accessID, a.call), "Retry", middleware.Before)
}

func (a *Access) call(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	out middleware.FinalizeOutput, metadata middleware.Metadata, err error,
) {
	service := awsmiddleware.GetServiceID(ctx)
	if awsmiddleware.GetRegion(ctx) == "" {
		return out, metadata, &Refusal{activities.TypeAccessDenied, errors.New("the worker has no AWS region: set AWS_REGION or a profile's region")}
	}
	used, err := a.credentials(ctx, service)
	if err != nil {
		return out, metadata, err
	}
	out, metadata, err = next.HandleFinalize(ctx, in)
	reason := reasonOf(err)
	if reason != none {
		replaced := a.renew(ctx, used)
		if err := rewind(in); err != nil {
			return out, metadata, err
		}
		out, metadata, err = next.HandleFinalize(ctx, in)
		if again := reasonOf(err); again != none {
			return out, metadata, a.refuse(service, again != unknown || replaced, err)
		}
	}
	if err == nil {
		a.succeeded(service)
	}
	return out, metadata, err
}

// credentials are those that the call is signed with.
func (a *Access) credentials(ctx context.Context, service string) (aws.Credentials, error) {
	if a.cache == nil {
		return aws.Credentials{}, nil
	}
	got, err := a.cache.Retrieve(ctx)
	switch {
	case err == nil:
		secret.Add(got.SecretAccessKey, got.SessionToken)
		return got, nil
	case ctx.Err() != nil:
		return got, ctx.Err()
	case a.unconfigured():
		return got, &Refusal{activities.TypeAccessDenied, fmt.Errorf("the worker has no AWS credentials: give them by AWS_ACCESS_KEY_ID and "+
			"AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or a role of the machine or container (%w)", err)}
	default:
		return got, a.refuse(service, false, fmt.Errorf("no AWS credentials to be had: %w", err))
	}
}

// unconfigured says that nobody has given credentials: the SDK's chain has come to
// its end, the machine's own role, and there has never been one.
func (a *Access) unconfigured() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.worked {
		return false
	}
	for _, source := range a.cache.ProviderSources() {
		if source == aws.CredentialSourceIMDS {
			return true
		}
	}
	return false
}

// renew fetches the credentials anew where they are still those that were refused,
// and tells whether there are others now.
func (a *Access) renew(ctx context.Context, used aws.Credentials) (replaced bool) {
	if a.cache == nil {
		return false
	}
	same := func() bool {
		got, err := a.cache.Retrieve(ctx)
		return err == nil && got.AccessKeyID == used.AccessKeyID && got.SessionToken == used.SessionToken && got.SecretAccessKey == used.SecretAccessKey
	}
	if same() {
		a.cache.Invalidate()
		return !same()
	}
	return true
}

// refuse is the error of a refused call. patient says that it is one that time may
// mend.
func (a *Access) refuse(service string, patient bool, err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	first, before := a.refused[service]
	if !before {
		first = now
		a.refused[service] = now
	}
	limit := arriving
	if patient || a.worked {
		limit = renewing
	}
	if now.Sub(first) >= limit {
		return &Refusal{activities.TypeAccessDenied, err}
	}
	return &Refusal{activities.TypeUnavailable, err}
}

func (a *Access) succeeded(service string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.worked = true
	delete(a.refused, service)
}

func rewind(in middleware.FinalizeInput) error {
	if request, ok := in.Request.(*smithyhttp.Request); ok {
		return request.RewindStream()
	}
	return nil
}

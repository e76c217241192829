package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/wire"
)

func TestATaskQueueIsJudgedByItsPollers(t *testing.T) {
	for name, c := range map[string]struct {
		seen seen
		ok   bool
		want string
	}{
		"nobody":           {seen{}, false, "start one with SLUICE_TASK_QUEUE=q"},
		"nobody needed":    {seen{optional: "only for claimers"}, true, "only for claimers"},
		"a worker":         {seen{identities: []string{"1@a"}}, true, "polled by 1@a"},
		"a version":        {seen{identities: []string{"1@a"}, versions: []string{"d 2"}, current: "d 2"}, true, "current version d 2"},
		"a waiting one":    {seen{identities: []string{"1@a"}, versions: []string{"d 2"}, current: "d 1"}, false, "d 1 is current"},
		"none made so yet": {seen{identities: []string{"1@a"}, versions: []string{"d 2"}}, false, "set-current-version --deployment-name d --build-id 2"},
	} {
		t.Run(name, func(t *testing.T) {
			got := pollers(wire.DoctorCheck{Target: "q"}, c.seen)
			require.Equal(t, c.ok, got.OK)
			require.Contains(t, got.Detail+got.Error, c.want)
		})
	}
}

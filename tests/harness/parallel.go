package harness

import (
	"flag"
	"fmt"
	"strconv"
)

// AtOnce lets so many of a package's parallel tests run at a time, for packages whose
// tests wait more than they work: by default there are as many as processors.
// TestMain calls it before Main.
func AtOnce(tests int) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(tests)); err != nil {
		panic(fmt.Sprintf("the testing package's own flag: %v", err))
	}
}

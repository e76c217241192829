// Package harness runs tests through the public door: a real dev stack, the
// worker and the starter as processes, and the `temporal` command line.
//
// A test package shares one stack, which starts at its first use and ends with
// the package:
//
//	func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		s := harness.Start(t)
//		worker := s.StartWorker("SLUICE_LOG_LEVEL=debug")
//		started := s.Starter("request", "run", "-f", file, "--wait").OK(t)
//		worker.Kill()
//	}
//
// Each test has a task queue of its own, so tests may run in parallel. Nothing
// outlives the test process, however it ends.
//
// Environment: SLUICE_DEVSTACK names a built devstack program; SLUICE_ATTACH=1
// uses the stack that the environment tells of (`. .devstack/env`) in place of
// starting one; SLUICE_RACE=1 builds worker and starter with the race detector;
// SLUICE_RECORD=1 lets Record write histories.
package harness

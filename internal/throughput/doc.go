// Package throughput holds the rules by which a fleet of workers shares a
// DynamoDB table's capacity. It owns the arithmetic only: who calls what lives in
// activities (the scheduler of one worker) and workflows (the owner of a budget).
// It knows no SDK, reads no clock and draws no random numbers: instants are
// handed in.
//
// Amounts of capacity are integers, thousandths of a unit (Milli), so that half a
// unit is exact, sums don't drift and a workflow replays to the same state.
//
//   - Resource names a budget: a table or index, a direction.
//   - Classify says what an error means for a repeat; Table is its one table.
//   - Request says what a call needs, before it is sent; Charges what it cost.
//   - Budget is the token bucket of one resource, Queue and Turns the order in
//     which waiting calls get it, Estimates what such calls cost lately.
//   - Shares divides a ceiling among workers, Ceiling finds the ceiling.
package throughput

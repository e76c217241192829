package activities

// nudge wakes the reader of c, now or next: one wake-up that waits is enough.
func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

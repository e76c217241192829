package guard

import (
	"net"
	"net/http"
	"time"

	"sluice/devstack/guard/rules"
)

// A plan is all faults of one call together.
type plan struct {
	Fault
	faulted bool
}

// merge adds a fault: latencies, skews and entries add up, of the rest the first counts.
func (p *plan) merge(f Fault) {
	p.faulted = true
	p.Latency += f.Latency
	p.Stall = max(p.Stall, f.Stall)
	p.Duplicate = p.Duplicate || f.Duplicate
	p.Entries = append(p.Entries, f.Entries...)
	p.Skew += f.Skew
	if p.Drop == "" {
		p.Drop = f.Drop
	}
	if !p.overrides() {
		p.Status, p.Code, p.Message, p.Reasons, p.Body, p.Work = f.Status, f.Code, f.Message, f.Reasons, f.Body, f.Work
	}
}

func (p *plan) any() int {
	if p.faulted {
		return 1
	}
	return 0
}

// overrides tells whether the answer is not the work's own.
func (p *plan) overrides() bool {
	return p.Status != 0 || p.Body != "" || p.Code != "" || len(p.Reasons) > 0
}

// before does what comes before the work and tells whether the call ends there.
func (p *plan) before(c *call, b backend) bool {
	if p.Latency > 0 {
		pause(c.r.Context(), time.Duration(p.Latency))
	}
	switch {
	case c.r.Context().Err() != nil:
		return true
	case p.Drop == "request":
		reset(c.w)
		return true
	case p.overrides() && !p.Work:
		if p.Drop == "answer" {
			reset(c.w)
			return true
		}
		p.override(c, b).send(c, time.Duration(p.Stall))
		return true
	case p.Skew != 0:
		if refused := byClock(c, b, p.now()); refused != nil {
			refused.write(c)
			return true
		}
	}
	return false
}

// now is the service's time.
func (p *plan) now() time.Time { return time.Now().Add(time.Duration(p.Skew)) }

// after answers a call whose work was done.
func (p *plan) after(c *call, b backend, a *answer) {
	switch {
	case p.Drop == "answer":
		_, _ = a.whole() // the work has ended only with its last byte
		reset(c.w)
	case p.overrides():
		_, _ = a.whole()
		p.override(c, b).send(c, time.Duration(p.Stall))
	case p.Stall > 0:
		if _, err := a.whole(); err != nil {
			reset(c.w)
			return
		}
		a.send(c, time.Duration(p.Stall))
	default:
		a.write(c)
	}
}

func (p *plan) override(c *call, b backend) *answer {
	status := p.Status
	if status == 0 {
		status = http.StatusOK
		if p.Code != "" || len(p.Reasons) > 0 {
			status = http.StatusBadRequest
		}
	}
	var a *answer
	if len(p.Reasons) > 0 {
		a = cancelled(p.Reasons)
	} else {
		a = b.refuse(c, status, p.Code, p.Message)
	}
	a.status = status
	if p.Body != "" {
		a.setBody([]byte(p.Body))
		sumUp(c, a, []byte(p.Body))
	}
	return a
}

// reset ends the connection without an answer.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

const (
	mostSkew   = 5 * time.Minute // of a signature's time and a service's
	mostSkewS3 = 15 * time.Minute
)

// byClock refuses a call that is signed at another time than the clock of a service
// allows, as the service does; nil where it is in time.
func byClock(c *call, b backend, now time.Time) *answer {
	signed, err := time.Parse(rules.SignatureTime, c.r.Header.Get("X-Amz-Date"))
	switch {
	case err != nil:
		return nil
	case c.service == S3 && rules.OffClock(signed, now, mostSkewS3) != "":
		return b.refuse(c, http.StatusForbidden, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.")
	case c.service == S3:
		return nil
	}
	if message := rules.OffClock(signed, now, mostSkew); message != "" {
		return b.refuse(c, http.StatusBadRequest, "InvalidSignatureException", message)
	}
	return nil
}

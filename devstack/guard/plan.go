package guard

import (
	"net"
	"net/http"
	"time"
)

// A plan is all faults of one call together.
type plan struct {
	Fault
	faulted bool
}

// merge adds a fault: latencies and entries add up, of the rest the first counts.
func (p *plan) merge(f Fault) {
	p.faulted = true
	p.Latency += f.Latency
	p.Stall = max(p.Stall, f.Stall)
	p.Duplicate = p.Duplicate || f.Duplicate
	p.Entries = append(p.Entries, f.Entries...)
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
	}
	return false
}

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

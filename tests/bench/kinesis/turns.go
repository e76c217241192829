package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"strconv"
	"syscall"
	"time"
)

// The ways take turns, so that a machine that grows slow or fast meanwhile favours
// none of them, and each in a process of its own, so that what one leaves behind,
// garbage or timers, is not another's processor time.

// A measurement is what one way of sending did.
type measurement struct {
	Records int64
	Elapsed time.Duration
	CPU     time.Duration
	Mallocs uint64
}

func (m measurement) perSecond() float64 { return float64(m.Records) / m.Elapsed.Seconds() }
func (m measurement) perCPU() float64    { return float64(m.Records) / m.CPU.Seconds() }
func (m measurement) perRecord() float64 { return float64(m.Mallocs) / float64(m.Records) }

func (m *measurement) add(o measurement) {
	m.Records += o.Records
	m.Elapsed += o.Elapsed
	m.CPU += o.CPU
	m.Mallocs += o.Mallocs
}

// serveWay is a way's process: for every line of its standard input, which is how
// long a turn takes, it sends records for that time and writes what it did.
func serveWay(args []string) error {
	name, url := args[0], args[1]
	size, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	send, err := newSender(name, url, size)
	if err != nil {
		return err
	}
	if file := os.Getenv("SLUICE_BENCH_PROFILE"); file != "" {
		out, err := os.Create(file + "." + name)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(out); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		turn, err := time.ParseDuration(in.Text())
		if err != nil {
			return err
		}
		m, err := takeTurn(turn, send)
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(m); err != nil {
			return err
		}
	}
	return in.Err()
}

// takeTurn sends for a while and measures this process.
func takeTurn(turn time.Duration, send sender) (measurement, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	cpu, started := cpuTime(), time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), turn)
	defer cancel()
	records, err := send(ctx)
	m := measurement{Records: records, Elapsed: time.Since(started), CPU: cpuTime() - cpu}
	runtime.ReadMemStats(&after)
	m.Mallocs = after.Mallocs - before.Mallocs
	return m, err
}

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A wayProcess is the parent's end of one.
type wayProcess struct {
	name string
	sum  measurement
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
}

func startWay(ctx context.Context, name, url string, size int) (*wayProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &wayProcess{name: name, cmd: exec.CommandContext(ctx, self, "way", name, url, strconv.Itoa(size))}
	w.cmd.Stderr = os.Stderr
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.out = json.NewDecoder(out)
	return w, w.cmd.Start()
}

// turn has the way send for a while.
func (w *wayProcess) turn(length time.Duration) (m measurement, err error) {
	if _, err = fmt.Fprintln(w.in, length); err == nil {
		err = w.out.Decode(&m)
	}
	if err == nil && m.Records == 0 {
		err = fmt.Errorf("it stored nothing")
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", w.name, err)
	}
	return m, err
}

func (w *wayProcess) stop() {
	_ = w.in.Close()
	_ = w.cmd.Wait()
}

// A contest is what is measured in the same turns.
type contest struct {
	ways   []string
	size   int // of a record
	rounds int // turns of each way, after one to warm up
	turn   time.Duration
}

// run measures the ways in turns against one endpoint.
func (c contest) run(ctx context.Context, latency time.Duration) (map[string]measurement, error) {
	url, stop, err := startEndpoint(ctx, manyShards, latency, false)
	if err != nil {
		return nil, err
	}
	defer stop()
	processes := make([]*wayProcess, 0, len(c.ways))
	defer func() {
		for _, w := range processes {
			w.stop()
		}
	}()
	for _, name := range c.ways {
		w, err := startWay(ctx, name, url, c.size)
		if err != nil {
			return nil, err
		}
		processes = append(processes, w)
	}
	for round := range c.rounds + 1 {
		for _, w := range processes {
			m, err := w.turn(c.turn)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				w.sum.add(m)
			}
		}
	}
	measured := map[string]measurement{}
	for _, w := range processes {
		measured[w.name] = w.sum
	}
	return measured, nil
}

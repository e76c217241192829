// Command quiescence measures the rule of Quiescence beside the original one, on
// a simulated producer, and the rate of CountObjects on a dev stack. It prints a
// table, and the figures as JSON in the last line.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
)

// report is the last line.
type report struct {
	Default              figures `json:"default"`
	Constant             figures `json:"constant"`
	Inverse              figures `json:"inverse"`
	Exponential          figures `json:"exponential"`
	Original             figures `json:"original"`
	EventsPerDay         int     `json:"eventsPerDay"`
	CountEventsPerSecond float64 `json:"countEventsPerSecond"`
}

func main() {
	log.SetFlags(0)
	var r report
	simulate(&r, os.Stdout)
	stack := &bench{}
	defer stack.cleanUp()
	if err := stack.measure(&r, os.Stdout); err != nil {
		stack.cleanUp()
		log.Fatal(err)
	}
	line, err := json.Marshal(r)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(line))
}

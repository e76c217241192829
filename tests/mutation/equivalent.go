package main

// equivalent are changes that change nothing that anybody could see, with the reason.
var equivalent = map[string]string{
	"workflows/countobjects/messages.go:*monitor.endAs:and for or#2": "a drain while it drains, or a stop while it stops, interrupts once more",
}

package capture

import (
	"syscall"
	"testing"
)

// TestLower: the thread of the recorder comes after others, and those keep their priority.
func TestLower(t *testing.T) {
	t.Parallel()
	priority := func() int {
		p, err := syscall.Getpriority(syscall.PRIO_PROCESS, syscall.Gettid()) // 20 less the niceness
		if err != nil {
			t.Error(err)
		}
		return p
	}
	own, lowered := priority(), make(chan int)
	go func() {
		lower()
		lowered <- priority()
	}()
	if got := <-lowered; got != max(own-5, 1) && got != 15 {
		t.Errorf("priority %d next to %d", got, own)
	}
}

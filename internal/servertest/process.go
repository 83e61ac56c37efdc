package servertest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a child that is waited for from the start, so that its end is seen
// when it comes and only our own child is ever signalled.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// startProcess starts a program whose output is added to a file.
func startProcess(program string, args []string, output string) (*process, error) {
	file, err := os.OpenFile(output, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &process{cmd: exec.Command(program, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = file, file
	p.cmd.SysProcAttr = dieWithParent()
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run starts the child and waits for it on one thread. The kernel kills the child
// when the thread that started it ends, which is not what anybody expects from the
// name parent-death signal: a thread that the Go runtime retired would take the
// server with it. Waiting on the same, locked thread ties the two lives together.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err == nil {
		_ = p.cmd.Wait() // how it ended is in ProcessState
		close(p.done)
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// state says how the process ended. Only after done.
func (p *process) state() *os.ProcessState { return p.cmd.ProcessState }

// terminate asks the process to end. If it does not, it is killed, and the error
// says so.
func (p *process) terminate() error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	select {
	case <-p.done:
		return nil
	case <-deadline.C:
		return errors.Join(fmt.Errorf("still there after %v", patience), p.kill())
	}
}

// kill ends the process and waits for its end, which the kernel warrants.
func (p *process) kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

// signal sends a signal; a process that has ended needs none.
func (p *process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// process is a process of callers: this program again.
type process struct {
	cmd     *exec.Cmd
	input   io.WriteCloser
	answers *json.Decoder
	stderr  bytes.Buffer
}

// startProcess starts a process of callers and returns when it is connected. It is
// killed when ctx ends.
func startProcess(ctx context.Context, t *task) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, self)}
	p.cmd.Env = append(os.Environ(), callersEnv+"=1")
	p.cmd.Stderr = &p.stderr
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.answers = json.NewDecoder(output)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := json.Marshal(t)
	if err != nil {
		return nil, errors.Join(err, p.end())
	}
	if _, err := p.tell(string(line)); err != nil {
		return nil, errors.Join(err, p.end())
	}
	return p, nil
}

// tell sends a line and returns the answer.
func (p *process) tell(line string) (reply, error) {
	var r reply
	_, err := io.WriteString(p.input, line+"\n")
	if err == nil {
		err = p.answers.Decode(&r)
	}
	if err != nil {
		return r, fmt.Errorf("callers: %w", err)
	}
	if r.Error != "" {
		return r, fmt.Errorf("callers: %s", r.Error)
	}
	return r, nil
}

// end waits for the end of the process, which comes with the end of its input.
func (p *process) end() error {
	_ = p.input.Close() // the process may have closed it
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("callers: %w: %s", err, strings.TrimSpace(p.stderr.String()))
	}
	return nil
}

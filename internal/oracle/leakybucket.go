package oracle

// LeakyBucket is the leaky bucket as a queue.
const LeakyBucket Kind = "leaky-bucket"

// A leaky bucket admits as a GCRA does, and makes an admitted caller wait.
func leakyBucket() family {
	return family{kind: LeakyBucket, start: func() model { return &arrival{queue: true} }}
}

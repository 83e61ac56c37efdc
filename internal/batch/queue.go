package batch

// maxSpare is how many queues are kept to be used again.
const maxSpare = 64

// newQueue returns the queue of a tag, which has no node yet.
func (b *Batcher[T]) newQueue(tag string) (q *queue[T]) {
	if n := len(b.spare); n > 0 {
		q, b.spare = b.spare[n-1], b.spare[:n-1]
	} else {
		q = new(queue[T])
	}
	q.tag, b.queues[tag] = tag, q
	return q
}

// move lets a queue belong to the node of that name: keys move between nodes.
func (b *Batcher[T]) move(q *queue[T], name string) {
	if q.node != nil && q.node.name == name {
		return
	}
	b.leaveNode(q)
	q.node = &q.own
	if name != "" {
		if q.node = b.nodes[name]; q.node == nil {
			q.node = &node[T]{name: name}
			b.nodes[name] = q.node
		}
	}
	q.node.users++
}

// leaveNode takes a queue away from its node, if it has one.
func (b *Batcher[T]) leaveNode(q *queue[T]) {
	n := q.node
	if n == nil {
		return
	}
	if q.place.listed {
		n.ready.remove(&q.place)
	}
	q.node = nil
	b.release(n)
}

// release says that a queue or a call less uses a node.
func (b *Batcher[T]) release(n *node[T]) {
	b.openOrClose(n)
	if n.users--; n.users == 0 && n.name != "" && len(b.nodes) > maxNodes {
		delete(b.nodes, n.name)
	}
}

// maxNodes is how many nodes are kept that have nothing to do.
const maxNodes = 64

// update puts a queue where it belongs: among those that may make a call, or away
// where there is nothing left to do. There are as many queues as keys, so none is kept
// but untagged.
func (b *Batcher[T]) update(q *queue[T]) {
	n := q.node
	waits := q.count > 0
	switch may := waits && q.inFlight < b.limits.Queue && (q.holding == 0 || q.count >= b.limits.Enough); {
	case may && !q.place.listed:
		n.ready.push(&q.place, q)
	case !may && q.place.listed:
		n.ready.remove(&q.place)
	}
	b.openOrClose(n)
	if !waits && q.calls == 0 && q != b.untagged {
		b.leaveNode(q)
		delete(b.queues, q.tag)
		if q.tag = ""; len(b.spare) < maxSpare {
			b.spare = append(b.spare, q)
		}
	}
}

// openOrClose puts a node among those that may make a call, or takes it out.
func (b *Batcher[T]) openOrClose(n *node[T]) {
	_, ready := n.ready.first()
	abandoned := b.limits.Node
	if n.name == "" {
		abandoned = b.limits.Abandoned
	}
	switch may := ready && n.inFlight < b.limits.Node && n.abandoned < abandoned; {
	case may && !n.place.listed:
		b.open.push(&n.place, n)
	case !may && n.place.listed:
		b.open.remove(&n.place)
	}
}

// Package audit writes down who changed what: JSON lines in a file for each day, each
// synced to the disk before its writer goes on.
//
// A change is written down twice: [Log.Begin] before it is made, and [Change.End] with what
// came of it. Where Begin fails, the change must not be made: so a file that cannot be
// written refuses changes. A process that dies in between leaves the first line, which says
// what may have happened. Both lines have the same request_id.
//
// Users are written as a hash: see [Log.UserTarget].
package audit

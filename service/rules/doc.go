// Package rules keeps the rules of a tenant in one document that all nodes share. The
// document is a policy as package policy reads it, so that a watcher follows it and the
// command checks it; what a policy has no place for (a name for people, and when a rule was
// made and changed) stands in a comment in its first line.
//
// All changes go by compare-and-set. A change that makes no valid policy is refused, and
// nothing is written.
package rules

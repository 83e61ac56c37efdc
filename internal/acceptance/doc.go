// Package acceptance holds tests of what users are promised: the public API, with
// both client libraries, against real Redis and Valkey servers, and with what goes
// wrong there. It has no code of its own.
package acceptance

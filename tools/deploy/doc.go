// Package deploy has the tests of the folder deploy: they read its files as the tools do
// that will, strictly, and need no engine.
package deploy

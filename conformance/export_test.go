package conformance

// ScriptChecks are the checks of TestScript, so that a test can let them fail.
var ScriptChecks = scriptChecks

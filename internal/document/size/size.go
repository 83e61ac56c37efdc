// Package size bounds documents, for those who read them and those who store them.
package size

// MaxDocument is the most bytes of a document.
const MaxDocument = 4 << 20

// Package ui keeps what a page about the limits of a program shows of the last hour.
package ui

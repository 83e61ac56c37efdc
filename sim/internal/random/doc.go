// Package random gives a simulation its chance: named streams of draws that
// follow from one seed.
//
// A stream belongs to one purpose and is found by its name, such as
// "traffic/attackers/gaps". Its draws depend on the seed and the name alone, so
// a new stream never shifts another, and neither does a stream that draws more
// or less than before.
//
// All draws are the same on every platform. The generator is the PCG of
// math/rand/v2, seeded with SHA-256 of seed and name. Whole-number draws use
// whole numbers only. The others go through [Log], [Exp] and [SinTurn], which are
// written with the four basic operations: these are exact by IEEE 754, and each product is
// converted to float64 so that no compiler fuses it with a sum. The functions of
// package math are not used, since some platforms have their own versions that
// differ in the last digit. Results are rounded once, to whole units.
//
// Parameters are whole numbers: a shape such as α = 1.4 is given in millionths,
// 1_400_000. Every parameter is accepted: what lies outside the stated range
// counts as the nearest value within, and results are held between the stated
// bounds. To refuse bad parameters is the business of whoever reads them.
package random

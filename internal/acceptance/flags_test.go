package acceptance_test

import _ "pgregory.net/rapid" // has the flag -rapid.checks, by which rounds are scaled

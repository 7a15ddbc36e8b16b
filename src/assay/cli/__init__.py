"""The command line: each command parses its arguments, calls the library and prints the result."""

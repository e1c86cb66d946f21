"""The command line: a thin shell over the library, one module a family of commands."""

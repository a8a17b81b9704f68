//! A scripted model over HTTP and a driver for the real binary, for tests.

//! Lines in, records out: the framing of bowline's stdin and stdout.

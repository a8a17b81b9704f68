//! The client with the real program.

mod commands;
mod documentation;
mod examples;
mod load;
mod processes;
mod requests;
mod restarts;
mod runs;
mod trial;

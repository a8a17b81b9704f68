//! A connection with an agent that a test plays: what it may write, how it ends, who reads slowly.

mod agent;
mod endings;
mod flow;
mod lines;
mod requests;
mod runs;

//! Tests of the mapping against a simulated device.

mod arena;
mod foreign;
mod kinds;
mod limits;
mod overlap;
mod present;
mod random;
mod shapes;
mod sim;

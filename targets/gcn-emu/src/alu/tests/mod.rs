//! | module | job |
//! |---|---|
//! | `wave` | runs an operation |
//! | `values` | results for operands that matter |
//! | `division` | divisions by compiled code's sequences |
//! | `speed` | the time of a wave |

mod division;
mod speed;
mod values;
mod wave;

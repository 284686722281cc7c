//! | module | job |
//! |---|---|
//! | `wave` | runs an operation |
//! | `values` | results for operands that matter |
//! | `packed` | packed arithmetic with modifiers |
//! | `division` | divisions by compiled code's sequences |
//! | `speed` | the time of a wave |

mod division;
mod packed;
mod speed;
mod values;
mod wave;

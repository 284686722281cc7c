//! | module | job |
//! |---|---|
//! | `wave` | runs an operation |
//! | `values` | results for operands that matter |
//! | `packed` | packed arithmetic with modifiers |
//! | `division` | divisions by compiled code's sequences |
//! | `oracle` | results according to the manuals' pseudocode |
//! | `speed` | the time of a wave |

mod division;
mod oracle;
mod packed;
mod speed;
mod values;
mod wave;

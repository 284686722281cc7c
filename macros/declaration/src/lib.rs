//! The syntax of declarations of host functions and kernels, for `revoff-macros` and for bindings that
//! read declarations at run time.
//!
//! | file | job |
//! |---|---|
//! | `declaration` | parses a declaration |
//! | `form` | the forms of parameters: by value, by reference, for results |
//! | `type_name` | the text of a type, as it is hashed |

mod declaration;
mod form;
mod type_name;

pub use declaration::{
    Declaration, DeclarationKind, Parameter, named, refuse_extern_name, refuse_qualifiers,
    refuse_return,
};
pub use form::{Form, bare};
pub use type_name::canonical;

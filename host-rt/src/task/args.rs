//! The parameters of a kernel that runs as a task.

use crate::runtime::{DeviceBuffer, KernelArg};

/// A parameter of a target task's kernel: an integer or a float, by value, or a
/// [`DeviceBuffer`], by reference, which lives as long as the scope.
pub trait TaskArg: Send {
    /// The parameter.
    fn arg(&self) -> &dyn KernelArg;
    /// The buffer whose address it is, if any.
    fn buffer(&self) -> Option<&DeviceBuffer> {
        None
    }
}

macro_rules! values {
    ($($type:ty)*) => {$(
        impl TaskArg for $type {
            fn arg(&self) -> &dyn KernelArg {
                self
            }
        }
    )*};
}

values!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64);

impl TaskArg for &DeviceBuffer {
    fn arg(&self) -> &dyn KernelArg {
        *self
    }

    fn buffer(&self) -> Option<&DeviceBuffer> {
        Some(self)
    }
}

/// The parameters of a target task's kernel: a tuple of up to twelve [`TaskArg`]s. It is read once,
/// when the task is built, and dropped when the task has ended.
pub trait TaskArgs: Send {
    /// Calls `take` with each parameter.
    fn each(&self, take: &mut dyn FnMut(&dyn TaskArg));
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: TaskArg),*> TaskArgs for ($($name,)*) {
            #[allow(non_snake_case, unused_variables, reason = "one name for type and value")]
            fn each(&self, take: &mut dyn FnMut(&dyn TaskArg)) {
                let ($($name,)*) = self;
                $(take($name);)*
            }
        }
    };
}

tuples!();
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
tuples!(A B C D E F G H I);
tuples!(A B C D E F G H I J);
tuples!(A B C D E F G H I J K);
tuples!(A B C D E F G H I J K L);

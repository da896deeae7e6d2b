//! The program, as it is typed.

//! Whole scenarios, through the public API and a scripted model.

mod calls;
mod children;
mod mail;
mod support;
mod turns;

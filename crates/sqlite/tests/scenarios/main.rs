//! What a data folder promises, each through the public door.

mod blobs;
mod crash;
mod damage;
mod folder;
mod formats;
mod full;
mod group;
mod killed;
mod memory;
mod retention;
mod support;

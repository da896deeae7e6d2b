//! The sandbox helper of the tests.

fn main() {
    offshoot_sandbox::enter_if_asked();
}

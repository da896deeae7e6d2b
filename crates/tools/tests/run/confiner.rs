//! What the tests have commands confined by.

fn main() {
    offshoot_sandbox::enter_if_asked();
}

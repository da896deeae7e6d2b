//! The licences a dependency may be used under.

/// SPDX identifiers, each with its exception where it has one. All of them let the code be shipped
/// inside a program under MIT or Apache-2.0 without a condition on that program's own source.
pub(crate) const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

//! Invisible characters.
//!
//! Two names that look the same must be the same name, so names cannot contain characters
//! that are invisible or change the direction of text.

/// Whether `c` is a formatting character: the categories Cf, Zl and Zp, which contain the
/// zero-width characters and the direction controls.
pub fn is_format(c: char) -> bool {
    c >= '\u{ad}'
        && matches!(
            c,
            '\u{ad}'
                | '\u{600}'..='\u{605}'
                | '\u{61c}'
                | '\u{6dd}'
                | '\u{70f}'
                | '\u{890}'..='\u{891}'
                | '\u{8e2}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{110bd}'
                | '\u{110cd}'
                | '\u{13430}'..='\u{1343f}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Whether `c` alone is invisible: formatting characters, white space, fillers and
/// variation selectors.
pub fn is_blank(c: char) -> bool {
    is_format(c)
        || c.is_whitespace()
        || matches!(
            c,
            '\u{34f}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{ffa0}'
                | '\u{e0100}'..='\u{e01ef}'
        )
}

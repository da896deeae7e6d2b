//! The text of a page, without its tags.
//!
//! The text is for reading alone, so it needs no complete HTML parser.

/// Elements whose content is left out.
const SILENT: [&str; 5] = ["script", "style", "noscript", "template", "svg"];

/// Elements that begin a new line.
const BREAKS: [&str; 24] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "br",
    "dd",
    "div",
    "dl",
    "dt",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "p",
    "pre",
    "section",
    "title",
    "tr",
];

/// Returns the text of a page.
pub(super) fn text(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once('<') {
        append(&mut text, before);
        rest = match after.strip_prefix("!--") {
            Some(comment) => comment.split_once("-->").map_or("", |(_, after)| after),
            None if after.starts_with(|letter: char| {
                letter.is_ascii_alphabetic() || letter == '/' || letter == '!'
            }) =>
            {
                let (mark, after) = after.split_once('>').unwrap_or((after, ""));
                enter(&mut text, mark, after)
            }
            None => {
                text.push('<');
                after
            }
        };
    }
    append(&mut text, rest);
    let lines = text.lines().map(str::trim);
    let mut said = String::new();
    for line in lines.filter(|line| !line.is_empty()) {
        said.push_str(line);
        said.push('\n');
    }
    said
}

/// Applies a tag and returns the rest of the page.
fn enter<'a>(text: &mut String, mark: &str, after: &'a str) -> &'a str {
    let is_of_name = |letter: &char| letter.is_ascii_alphanumeric();
    let name: String = mark.trim_start_matches('/').chars().take_while(is_of_name).collect();
    let name = name.to_ascii_lowercase();
    if BREAKS.contains(&name.as_str()) {
        text.push('\n');
        if name == "li" && !mark.starts_with('/') {
            text.push_str("- ");
        }
    } else if name == "td" || name == "th" {
        text.push(' ');
    }
    if mark.starts_with('/') || mark.ends_with('/') || !SILENT.contains(&name.as_str()) {
        return after;
    }
    let mut rest = after;
    while let Some((_, ended)) = rest.split_once("</") {
        if ended.get(..name.len()).is_some_and(|it| it.eq_ignore_ascii_case(&name)) {
            return ended.split_once('>').map_or("", |(_, after)| after);
        }
        rest = ended;
    }
    ""
}

/// Appends text between tags, with joined blanks and decoded entities.
fn append(text: &mut String, raw: &str) {
    let mut rest = raw;
    while let Some(letter) = rest.chars().next() {
        if letter.is_whitespace() {
            if !text.ends_with(char::is_whitespace) {
                text.push(' ');
            }
            rest = rest.trim_start();
            continue;
        }
        if letter == '&'
            && let Some((sign, after)) = sign(&rest[1..])
        {
            text.push(sign);
            rest = after;
            continue;
        }
        text.push(letter);
        rest = &rest[letter.len_utf8()..];
    }
}

/// Returns the character of an entity, and the text after it.
fn sign(text: &str) -> Option<(char, &str)> {
    let end = text.bytes().take(10).position(|byte| byte == b';')?;
    let (name, after) = (&text[..end], &text[end + 1..]);
    let number = |digits: &str, radix| char::from_u32(u32::from_str_radix(digits, radix).ok()?);
    let letter = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "mdash" => '—',
        "ndash" => '–',
        "hellip" => '…',
        "copy" => '©',
        name => match name.strip_prefix('#')? {
            hex if hex.starts_with(['x', 'X']) => number(&hex[1..], 16)?,
            digits => number(digits, 10)?,
        },
    };
    Some((letter, after))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::text;

    #[test]
    fn marks_are_left_out_and_signs_are_read() {
        let page = "<!DOCTYPE html><title>T &amp; U</title><SCRIPT>alert('<p>')</script>\
                    <!-- no --><h1>Head</h1><p>one\n  two<br/>three &#252; &lt;b&gt; a < b</p>\
                    <ul><li>x</li><li>y</ul><style>p{}";
        assert_eq!(text(page), "T & U\nHead\none two\nthree ü <b> a < b\n- x\n- y\n");
    }

    proptest! {
        #[test]
        fn any_page_has_a_text(page in "(<|>|/|!--|-->|script|p|&|#x|;|ü| |\n|[a-z]){0,40}") {
            text(&page);
        }
    }
}

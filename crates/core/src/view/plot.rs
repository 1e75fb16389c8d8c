//! Plots as SVG: text that a browser draws, sharp at every size, readable without one.
//!
//! Every plot has a title and a description for readers who can't see it; colours are left to the page around it, by
//! the names of classes.

use std::fmt::Write as _;

use crate::words::visible::visible_line;

/// The size of a plot, in units of its own.
const WIDTH: u32 = 640;
const HEIGHT: u32 = 160;
/// The greatest width of a bar: a single day doesn't fill the plot.
const BAR_MAX: u32 = 48;
/// Room for numbers on the left, names below.
const LEFT: u32 = 56;
const BELOW: u32 = 24;

/// `text`, fit to stand in HTML and SVG; what would not be seen is shown.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in visible_line(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// One bar for each of `values`, in their order, with the part of it that counts as good; `names` are said of each.
#[must_use]
pub fn columns(title: &str, names: &[&str], values: &[(u64, u64)]) -> String {
    let most = values.iter().map(|(value, _)| *value).max().unwrap_or(0).max(1);
    let first = names.first().copied().unwrap_or("-");
    let last = names.last().copied().unwrap_or("-");
    let said = match values.len() {
        1 => format!("one value, of {first}: {most}"),
        count => format!("{count} values from {first} to {last}, the highest {most}"),
    };
    let mut svg = opened(title, &said);
    scale(&mut svg, most);
    let count = u32::try_from(values.len().max(1)).unwrap_or(u32::MAX);
    for (place, ((value, good), name)) in values.iter().zip(names).enumerate() {
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        let from = LEFT + share(u64::from(WIDTH - LEFT), u64::from(place), u64::from(count));
        let to = LEFT + share(u64::from(WIDTH - LEFT), u64::from(place) + 1, u64::from(count));
        let width = (to - from).saturating_sub(u32::from(to - from > 3)).clamp(1, BAR_MAX);
        for (class, value) in [("bar", *value), ("bar good", *good)] {
            let height = share(u64::from(HEIGHT), value, most);
            if height > 0 {
                let _ = write!(
                    svg,
                    r#"<rect class="{class}" x="{from}" y="{}" width="{width}" height="{height}"><title>{}: {value}</title></rect>"#,
                    HEIGHT - height,
                    escaped(name)
                );
            }
        }
    }
    label(&mut svg, LEFT, HEIGHT + BELOW - 8, "start", first);
    if values.len() > 1 {
        label(&mut svg, WIDTH, HEIGHT + BELOW - 8, "end", last);
    }
    svg.push_str("</svg>");
    svg
}

/// Draws one line for each row: its name, a bar to the second number, a thinner one to the third, a mark at the first.
/// `say` puts the three into words, for readers who can't see them.
#[must_use]
pub fn spreads(title: &str, rows: &[(&str, f64, f64, f64)], say: impl Fn(f64, f64, f64) -> String) -> String {
    const ROW: u32 = 28;
    const NAMES: u32 = 150;
    let most = rows.iter().fold(1.0_f64, |most, row| most.max(row.3));
    let height = ROW * u32::try_from(rows.len()).unwrap_or(0) + BELOW;
    let words: Vec<String> =
        rows.iter().map(|(name, mark, bar, line)| format!("{name}: {}", say(*mark, *bar, *line))).collect();
    let mut svg = String::new();
    open(&mut svg, title, &words.join("; "), height);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a plot")]
    let at = |value: f64| NAMES + (f64::from(WIDTH - NAMES - 8) * (value / most).clamp(0.0, 1.0)).round() as u32;
    for (place, (name, mark, bar, line)) in rows.iter().enumerate() {
        let top = ROW * u32::try_from(place).unwrap_or(0);
        label(&mut svg, NAMES - 8, top + 18, "end", name);
        let _ = write!(
            svg,
            r#"<rect class="reach" x="{NAMES}" y="{}" width="{}" height="2"/><rect class="bar" x="{NAMES}" y="{}" width="{}" height="12"/><rect class="mark" x="{}" y="{}" width="3" height="18"/>"#,
            top + 13,
            at(*line) - NAMES,
            top + 8,
            at(*bar) - NAMES,
            at(*mark),
            top + 5
        );
    }
    label(&mut svg, NAMES, height - 6, "start", "0");
    label(&mut svg, WIDTH, height - 6, "end", &format!("{most}"));
    svg.push_str("</svg>");
    svg
}

fn opened(title: &str, described: &str) -> String {
    let mut svg = String::new();
    open(&mut svg, title, described, HEIGHT + BELOW);
    svg
}

fn open(svg: &mut String, title: &str, described: &str, height: u32) {
    let _ = write!(
        svg,
        r#"<svg class="plot" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{}. {}">"#,
        escaped(title),
        escaped(described)
    );
}

fn scale(svg: &mut String, most: u64) {
    let _ = write!(svg, r#"<line class="axis" x1="{LEFT}" y1="{HEIGHT}" x2="{WIDTH}" y2="{HEIGHT}"/>"#);
    label(svg, LEFT - 8, 12, "end", &most.to_string());
    label(svg, LEFT - 8, HEIGHT, "end", "0");
}

fn label(svg: &mut String, x: u32, y: u32, anchor: &str, text: &str) {
    let _ = write!(svg, r#"<text x="{x}" y="{y}" text-anchor="{anchor}">{}</text>"#, escaped(text));
}

fn share(whole: u64, part: u64, of: u64) -> u32 {
    let share = u128::from(whole) * u128::from(part) / u128::from(of.max(1));
    u32::try_from(share).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_not_break_out() {
        let nasty = "</svg><script>\u{202e}\"'&";
        for svg in
            [columns(nasty, &[nasty], &[(3, 1)]), spreads(nasty, &[(nasty, 1.0, 2.0, 3.0)], |_, _, _| nasty.to_owned())]
        {
            assert!(
                !svg.contains("<script") && svg.matches("</svg>").count() == 1 && !svg.contains('\u{202e}'),
                "{svg}"
            );
        }
    }

    #[test]
    fn the_highest_bar_is_as_high_as_the_plot() {
        let svg = columns("runs", &["a", "b", "c"], &[(10, 5), (0, 0), (u64::MAX, 0)]);
        assert!(svg.contains(r#"height="160"><title>c: 18446744073709551615<"#), "{svg}");
        assert!(!svg.contains("<title>b"), "nothing stands for nothing: {svg}");
        assert!(columns("runs", &[], &[]).contains("0 values"));
    }
}

//! SVG as PNG.

use anyhow::{Context, bail};
use resvg::{tiny_skia, usvg};
use std::sync::Arc;

/// The Latin, Greek and Cyrillic letters of Liberation Sans. Boxes are measured with the same metrics. `README.md` beside it
/// says how it was made.
const FONT: &[u8] = include_bytes!("KperfSans-Regular.ttf");
const FAMILY: &str = "Kperf Sans";
/// The most pixels that a picture may have.
const MOST_PIXELS: f32 = 400e6;

/// Draws an SVG on white, `scale` pixels for each of its own.
pub fn png(svg: &str, scale: f32) -> anyhow::Result<Vec<u8>> {
    let mut options = usvg::Options { font_family: FAMILY.to_owned(), ..usvg::Options::default() };
    Arc::make_mut(&mut options.fontdb).load_font_data(FONT.to_vec());
    let svg = svg.replace("font-family=\"Arial\"", &format!("font-family=\"{FAMILY}\""));
    let svg = svg.replace(
        "font-family: Helvetica, Arial, 'Liberation Sans', sans-serif",
        &format!("font-family: {FAMILY}"),
    );
    let tree = usvg::Tree::from_str(&svg, &options).context("failed to read the SVG")?;
    let size = tree.size();
    let (width, height) = (size.width() * scale, size.height() * scale);
    if width * height > MOST_PIXELS {
        bail!(
            "the picture would have {width:.0} x {height:.0} pixels; draw less (--min-share, --boxes) or write an SVG"
        );
    }
    let mut pixels = tiny_skia::Pixmap::new(width.ceil() as u32, height.ceil() as u32)
        .context("the picture has no size")?;
    pixels.fill(tiny_skia::Color::WHITE);
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().context("failed to write the PNG")
}

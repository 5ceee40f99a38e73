//! Pages look as they did: screenshots in light, dark and on a phone, compared with the pictures in
//! `pictures`.
//!
//! Both are reduced to cells of 8x8 pixels, so that another release of the browser may draw letters
//! differently, but a section that is missing, moved or without colour shows. After a change of the page,
//! look at the pictures that `INSTA_UPDATE=always` writes.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use super::{browser, page_of};
use crate::support::require;

/// Pixels of a cell, in each direction.
const CELL: usize = 8;

/// Cells differ if their grey values do by more than this, of 255.
const SHADES: u8 = 32;

/// Largest share of cells that may differ.
const TOLERANCE: f64 = 0.01;

/// Grey values of the cells, row by row.
#[derive(Clone, PartialEq)]
struct Picture {
    width: usize,
    cells: Vec<u8>,
}

impl Picture {
    /// Reads a PNG of the browser.
    fn of_screenshot(path: &Path) -> Self {
        let mut decoder = png::Decoder::new(BufReader::new(File::open(path).unwrap()));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        let samples = info.color_type.samples();
        let (rows, columns) = (info.height as usize / CELL, info.width as usize / CELL);
        let grey = |row: usize, column: usize| {
            let pixels = (0..CELL * CELL).map(|at| {
                let (y, x) = (row * CELL + at / CELL, column * CELL + at % CELL);
                let pixel = &bytes[y * info.line_size + x * samples..][..samples.min(3)];
                pixel.iter().map(|value| usize::from(*value)).sum::<usize>() / pixel.len()
            });
            (pixels.sum::<usize>() / (CELL * CELL)) as u8
        };
        let cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        Self { width: columns, cells: cells.map(|(row, column)| grey(row, column)).collect() }
    }

    fn read(path: &Path) -> Self {
        let mut reader =
            png::Decoder::new(BufReader::new(File::open(path).unwrap())).read_info().unwrap();
        let mut cells = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut cells).unwrap();
        Self { width: info.width as usize, cells }
    }

    fn write(&self, path: &Path) {
        let height = self.cells.len() / self.width;
        let file = File::create(path).unwrap();
        let mut encoder = png::Encoder::new(file, self.width as u32, height as u32);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.write_header().unwrap().write_image_data(&self.cells).unwrap();
    }

    /// The share of cells that differ; all if the sizes do.
    fn difference(&self, other: &Self) -> f64 {
        if (self.width, self.cells.len()) != (other.width, other.cells.len()) {
            return 1.0;
        }
        let cells = self.cells.iter().zip(&other.cells);
        let differ = cells.filter(|(one, other)| one.abs_diff(**other) > SHADES).count();
        differ as f64 / self.cells.len() as f64
    }
}

/// A screenshot of the page.
fn screenshot(page: &str, size: &str, options: &[&str]) -> Picture {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("screen.png");
    let to = format!("--screenshot={}", path.display());
    let options: Vec<&str> =
        [&to, "--hide-scrollbars"].into_iter().chain(options.iter().copied()).collect();
    let output = browser::open(folder.path(), page, size, &options);
    assert!(path.exists(), "{}", String::from_utf8_lossy(&output.stderr));
    Picture::of_screenshot(&path)
}

#[expect(clippy::disallowed_methods, reason = "the variable that rewrites snapshots")]
fn are_rewritten() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always")
}

#[test]
fn pages_look_as_they_did() {
    if !require::has("pages_look_as_they_did", "chromium") {
        return;
    }
    let page = page_of("async-straggler-2.27.5");
    let known = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/html/pictures"));
    let mut shown = Vec::new();
    for (name, size, options) in [
        ("desktop", "1440,3200", &[][..]),
        ("dark", "1440,3200", &["--blink-settings=preferredColorScheme=0"]),
        ("phone", "500,3200", &[]),
    ] {
        let picture = screenshot(&page, size, options);
        let path = known.join(format!("{name}.png"));
        if are_rewritten() {
            fs::create_dir_all(&known).unwrap();
            picture.write(&path);
        }
        let differs = picture.difference(&Picture::read(&path));
        assert!(
            differs <= TOLERANCE,
            "{name}: {:.1} % of it differs from {}",
            differs * 100.0,
            path.display()
        );
        shown.push(picture);
    }
    assert!(shown[0].difference(&shown[1]) > 0.9, "dark is dark");
    let without_bars = screenshot(&page.replace("<rect", "<path"), "1440,3200", &[]);
    let differs = shown[0].difference(&without_bars);
    assert!(differs > TOLERANCE, "{differs}: charts without bars are another picture");
}

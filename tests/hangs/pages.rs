//! Every class that stops a job has a page, of the same shape.

use std::fs;
use std::path::Path;

use railscope_core::analysis::verdict::hang::PAGES;

const HEADINGS: [&str; 4] = [
    "\n## What it looks like\n",
    "\n## How railscope knows\n",
    "\n## What it is confused with\n",
    "\n## What to do first\n",
];

#[test]
fn each_class_has_a_page_that_the_guide_links_to() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let guide = fs::read_to_string(docs.join("hangs.md")).unwrap();
    for page in PAGES {
        let text = fs::read_to_string(docs.join("hangs").join(format!("{page}.md"))).unwrap();
        let title = text.lines().next().unwrap();
        assert!(title.ends_with(&format!("(`{page}`)")), "{title}");
        for heading in HEADINGS {
            assert!(text.contains(heading), "{page}: {heading}");
        }
        assert!(guide.contains(&format!("(hangs/{page}.md)")), "{page}");
    }
    let pages = fs::read_dir(docs.join("hangs")).unwrap().count();
    assert_eq!(pages, PAGES.len(), "a page of no class");
}

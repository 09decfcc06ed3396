//! Takes the built web app into the binary, or a page that says that it was not built.

fn main() {
    println!("cargo::rerun-if-changed=../../web/dist");
    let built = std::path::Path::new("../../web/dist/index.html").is_file();
    memory_serve::load_directory(if built { "../../web/dist" } else { "unbuilt" });
}

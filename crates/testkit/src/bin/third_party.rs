//! Prints the notice that goes with the program: `cargo metadata --format-version 1 --filter-platform TARGET | third_party`.

use varve_testkit::third_party::{linked, notice};

fn main() -> Result<(), serde_json::Error> {
    let metadata = serde_json::from_reader(std::io::stdin())?;
    print!("{}", notice(&linked(&metadata, "varve-cli")));
    Ok(())
}

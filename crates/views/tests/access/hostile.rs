//! Values of the tree of readers with any byte changed, or cut.

use varve_views::fuzzing::index_values;

#[test]
fn damaged_readers_do_no_harm() {
    // Two principals of a revision with the rows of all, and one of a revision with a row of its own.
    let whole = b"\x00\x02\x01a\x02bc\x01\x01\x01d\x05\x00\x01\x01k\0";
    for at in 0..whole.len() {
        index_values(&whole[..at]);
        for byte in 0..=u8::MAX {
            let mut damaged = *whole;
            damaged[at] = byte;
            index_values(&damaged);
        }
    }
    // More principals and rows than there are bytes.
    index_values(b"\x00\xff\xff\xff\xff\x0f\x01a");
    index_values(b"\x01\x01\x01a\xff\xff\xff\xff\x0f");
}

//! Finding room for the words beside points.

use super::text_width;

/// Pixels: left, top, right, bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub left: i32,
    pub top: i32,
    pub right: i32,
    pub bottom: i32,
}

impl Bounds {
    fn around((x, y): (i32, i32), reach: i32) -> Bounds {
        Bounds {
            left: x - reach,
            top: y - reach,
            right: x + reach,
            bottom: y + reach,
        }
    }

    fn overlaps(self, other: Bounds) -> bool {
        let beside = self.right <= other.left || other.right <= self.left;
        let above = self.bottom <= other.top || other.bottom <= self.top;
        !beside && !above
    }

    fn contains(self, other: Bounds) -> bool {
        let in_width = self.left <= other.left && other.right <= self.right;
        in_width && self.top <= other.top && other.bottom <= self.bottom
    }
}

/// Pixels of a line of text in height.
const LINE: i32 = 14;
/// Pixels that a mark takes around its point.
const MARK: i32 = 6;

/// For each point with its label the left end and the middle of a line of text beside it, without an overlap with
/// another label or point and inside of `inside`; `None` where there is no room.
pub(super) fn place(points: &[((i32, i32), &str)], inside: Bounds) -> Vec<Option<(i32, i32)>> {
    let marks = points.iter().map(|(at, _)| Bounds::around(*at, MARK));
    let mut taken: Vec<Bounds> = marks.collect();
    let mut placed = Vec::with_capacity(points.len());
    for ((x, y), label) in points {
        let width = text_width(label);
        let found = offsets(width)
            .map(|(dx, dy)| (x + dx, y + dy))
            .map(|(left, middle)| Bounds {
                left,
                top: middle - LINE / 2,
                right: left + width,
                bottom: middle + LINE / 2,
            })
            .find(|bounds| {
                inside.contains(*bounds) && !taken.iter().any(|other| other.overlaps(*bounds))
            });
        taken.extend(found);
        placed.push(found.map(|bounds| (bounds.left, bounds.top + LINE / 2)));
    }
    placed
}

/// Right, left, above, below, then further away.
fn offsets(width: i32) -> impl Iterator<Item = (i32, i32)> {
    let near = [
        (MARK + 3, 0),
        (-width - MARK - 3, 0),
        (-width / 2, -LINE),
        (-width / 2, LINE),
    ];
    let far = [1, 2, 3].into_iter().flat_map(move |step| {
        let dy = LINE * step;
        let right = MARK + 3;
        let left = -width - MARK - 3;
        [(right, -dy), (right, dy), (left, -dy), (left, dy)]
    });
    near.into_iter().chain(far)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_close_points_do_not_overlap_and_stay_inside() {
        let inside = Bounds {
            left: 0,
            top: 0,
            right: 300,
            bottom: 120,
        };
        let points: Vec<((i32, i32), &str)> = (0..8)
            .map(|n| ((150 + 9 * (n % 4), 50 + 7 * (n / 4)), "zstd_19"))
            .chain([((295, 60), "zstd_22")])
            .collect();
        let placed = place(&points, inside);
        let bounds: Vec<Bounds> = placed
            .iter()
            .flatten()
            .map(|(left, middle)| Bounds {
                left: *left,
                top: middle - LINE / 2,
                right: left + text_width("zstd_19"),
                bottom: middle + LINE / 2,
            })
            .collect();
        assert!(bounds.len() >= 6, "{placed:?}");
        for (index, one) in bounds.iter().enumerate() {
            assert!(inside.contains(*one));
            assert!(bounds[..index].iter().all(|other| !other.overlaps(*one)));
        }
        assert!(placed[8].unwrap().0 < 295, "no room on the right");
    }
}

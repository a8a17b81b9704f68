//! The tree of a session, divided into segments: runs of entries without a fork. A branch is then a path of segments, and
//! the page contains each entry once, however many branches share it.

/// The number of an entry in the order of the file.
pub(crate) type Position = usize;

/// The number of a segment. Parents have smaller numbers than their children.
pub(crate) type SegmentNumber = usize;

/// A run of entries, each the only child of the one before.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    pub entries: Vec<Position>,
    pub parent: Option<SegmentNumber>,
    pub children: Vec<SegmentNumber>,
    /// The last segment of the branch to show when something in this segment is looked for.
    pub leaf: SegmentNumber,
    /// The newest entry in this segment or after it.
    newest: Position,
    /// Whether it is on the path to the current leaf.
    pub is_current: bool,
}

/// The segments of a session.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    pub list: Vec<Segment>,
    pub roots: Vec<SegmentNumber>,
    /// The segment of each entry.
    pub segment_of: Vec<SegmentNumber>,
    /// The segment that ends in the current leaf.
    pub current: Option<SegmentNumber>,
}

/// A segment in the order of the outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub segment: SegmentNumber,
    /// How many forks off the trunk it is.
    pub depth: usize,
}

impl Segments {
    /// Divides the entries with these parents; `leaf` is the current leaf.
    pub fn new(parents: &[Option<Position>], leaf: Option<Position>) -> Self {
        let mut children = vec![Vec::new(); parents.len()];
        let mut starts = Vec::new();
        for (position, parent) in parents.iter().enumerate() {
            match *parent {
                Some(parent) => children[parent].push(position),
                None => starts.push((position, None)),
            }
        }
        let mut tree = Self { segment_of: vec![0; parents.len()], ..Self::default() };
        starts.reverse();
        while let Some((start, parent)) = starts.pop() {
            let number = tree.list.len();
            let run = run_from(start, &children, leaf);
            let end = run.last().copied().unwrap_or(start);
            for position in &run {
                tree.segment_of[*position] = number;
            }
            match parent {
                Some(parent) => tree.segment_mut(parent).children.push(number),
                None => tree.roots.push(number),
            }
            starts.extend(children[end].iter().rev().map(|child| (*child, Some(number))));
            tree.list.push(Segment { entries: run, parent, leaf: number, newest: end, ..Segment::default() });
        }
        tree.current = leaf.map(|leaf| tree.segment_of[leaf]);
        tree.mark();
        tree
    }

    fn segment_mut(&mut self, number: SegmentNumber) -> &mut Segment {
        &mut self.list[number]
    }

    fn mark(&mut self) {
        for number in self.path() {
            self.segment_mut(number).is_current = true;
        }
        // Children first: they have the greater numbers.
        for number in (0..self.list.len()).rev() {
            let Segment { leaf, newest, parent, .. } = self.list[number];
            if let Some(parent) = parent
                && self.list[parent].newest < newest
            {
                let parent = self.segment_mut(parent);
                parent.newest = newest;
                parent.leaf = leaf;
            }
        }
        if let Some(current) = self.current {
            for number in self.path() {
                self.segment_mut(number).leaf = current;
            }
        }
    }

    /// Returns the segments from the root to the current leaf.
    pub fn path(&self) -> Vec<SegmentNumber> {
        let mut path: Vec<_> =
            std::iter::successors(self.current, |number| self.list[*number].parent).collect();
        path.reverse();
        path
    }

    /// Returns the segments that start at the same fork as `number`, including itself, in the order of the file.
    pub fn siblings(&self, number: SegmentNumber) -> &[SegmentNumber] {
        match self.list[number].parent {
            Some(parent) => &self.list[parent].children,
            None => &self.roots,
        }
    }

    /// Returns all segments for the outline: the trunk, which leads to the current leaf, is not indented; what branches
    /// off is, and comes before the continuation of the trunk.
    pub fn outline(&self) -> Vec<Row> {
        let mut rows = Vec::with_capacity(self.list.len());
        let mut waiting = Vec::new();
        self.wait(&mut waiting, &self.roots, 0);
        while let Some(row) = waiting.pop() {
            rows.push(row);
            self.wait(&mut waiting, &self.list[row.segment].children, row.depth);
        }
        rows
    }

    fn wait(&self, waiting: &mut Vec<Row>, siblings: &[SegmentNumber], depth: usize) {
        let rank = |number: &&SegmentNumber| {
            let segment = &self.list[**number];
            (segment.is_current, segment.newest)
        };
        let trunk = siblings.iter().max_by_key(rank).copied();
        waiting.extend(trunk.map(|segment| Row { segment, depth }));
        let turns = siblings.iter().rev().filter(|number| Some(**number) != trunk);
        waiting.extend(turns.map(|segment| Row { segment: *segment, depth: depth + 1 }));
    }
}

/// Returns the entries from `start` to the next branch, the end, or the current leaf.
fn run_from(start: Position, children: &[Vec<Position>], leaf: Option<Position>) -> Vec<Position> {
    let mut run = vec![start];
    let mut position = start;
    while let [child] = children[position].as_slice()
        && Some(position) != leaf
    {
        position = *child;
        run.push(position);
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the segments of entries with these parents.
    fn tree(parents: &[Option<Position>], leaf: Position) -> Segments {
        Segments::new(parents, Some(leaf))
    }

    fn entries(tree: &Segments, path: &[SegmentNumber]) -> Vec<Position> {
        path.iter().flat_map(|number| tree.list[*number].entries.clone()).collect()
    }

    //  0 ─ 1 ─┬─ 2 ─ 3
    //         ├─ 4 ─┬─ 5
    //         │     └─ 6
    //         └─ 7
    const PARENTS: [Option<Position>; 8] =
        [None, Some(0), Some(1), Some(2), Some(1), Some(4), Some(4), Some(1)];

    #[test]
    fn the_path_leads_from_the_root_to_the_leaf() {
        for (leaf, expected) in
            [(7, vec![0, 1, 7]), (3, vec![0, 1, 2, 3]), (6, vec![0, 1, 4, 6]), (0, vec![0])]
        {
            let tree = tree(&PARENTS, leaf);
            assert_eq!(entries(&tree, &tree.path()), expected);
        }
    }

    #[test]
    fn every_entry_is_in_one_segment() {
        for leaf in 0..PARENTS.len() {
            let tree = tree(&PARENTS, leaf);
            let mut all: Vec<_> = tree.list.iter().flat_map(|segment| segment.entries.clone()).collect();
            all.sort_unstable();
            assert_eq!(all, (0..PARENTS.len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_trunk_is_not_indented() {
        let tree = tree(&PARENTS, 3);
        let rows: Vec<_> =
            tree.outline().iter().map(|row| (tree.list[row.segment].entries[0], row.depth)).collect();
        assert_eq!(rows, [(0, 0), (4, 1), (5, 2), (6, 1), (7, 1), (2, 0)]);
    }

    #[test]
    fn a_segment_leads_to_its_newest_branch() {
        let tree = tree(&PARENTS, 3);
        let end = |position: Position| tree.list[tree.list[tree.segment_of[position]].leaf].entries.clone();
        assert_eq!(end(4), [6]);
        assert_eq!(end(0), [2, 3]);
    }

    #[test]
    fn long_chains_and_many_roots_are_supported() {
        let chain: Vec<_> = (0..100_000_usize).map(|position| position.checked_sub(1)).collect();
        assert_eq!(tree(&chain, 99_999).list.len(), 1);
        let roots = vec![None; 1_000];
        assert_eq!(tree(&roots, 5).outline().last(), Some(&Row { segment: 5, depth: 0 }));
    }
}

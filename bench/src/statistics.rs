//! Samples of one quantity, their median and minimum.

/// Samples; the methods need at least one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn push(&mut self, sample: f64) {
        self.0.push(sample);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the median, which a few disturbed samples do not move.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match sorted.len() {
            0 => f64::NAN,
            length if length % 2 == 0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
            _ => sorted[middle],
        }
    }

    /// Returns the minimum: the value without disturbance.
    pub(crate) fn minimum(&self) -> f64 {
        self.0.iter().copied().reduce(f64::min).unwrap_or(f64::NAN)
    }
}

impl FromIterator<f64> for Samples {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[f64], median: f64, minimum: f64) {
        let samples: Samples = values.iter().copied().collect();
        assert_eq!((samples.median(), samples.minimum()), (median, minimum));
    }

    #[test]
    fn median_is_in_the_middle_of_the_sorted_samples() {
        check(&[3.0], 3.0, 3.0);
        check(&[9.0, 1.0, 2.0], 2.0, 1.0);
        check(&[9.0, 1.0, 2.0, 4.0], 3.0, 1.0);
    }
}

//! JSON numbers as what they are: decimals. As floats, `0.3` would be no multiple of `0.1`, and whole numbers above 2^53 would
//! be the same as their neighbours.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Number;

/// A number: `digits * 10^exponent`. Of the forms that are the same number, it is the one without zeros at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    is_negative: bool,
    digits: u64,
    exponent: i32,
}

impl Decimal {
    pub fn of(number: &Number) -> Self {
        let text = number.to_string();
        let unsigned = text.strip_prefix('-').unwrap_or(&text);
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        // A float has 17 significant digits at most, a whole number fits 64 bits.
        let mut digits: u64 =
            format!("{whole}{}", fraction.trim_end_matches('0')).parse().unwrap_or_default();
        let shift = i32::try_from(fraction.trim_end_matches('0').len()).unwrap_or_default();
        let mut exponent = exponent.parse::<i32>().unwrap_or_default() - shift;
        if digits == 0 {
            return Self { is_negative: false, digits: 0, exponent: 0 };
        }
        while digits.is_multiple_of(10) {
            digits /= 10;
            exponent += 1;
        }
        Self { is_negative: text.starts_with('-'), digits, exponent }
    }

    pub fn is_positive(self) -> bool {
        self.digits > 0 && !self.is_negative
    }

    /// Tells whether the number is this many times another one, for a whole number of times.
    pub fn is_times(self, step: Self) -> bool {
        if self.digits == 0 || step.digits == 0 {
            return self.digits == 0;
        }
        let step_digits = u128::from(step.digits);
        match u32::try_from(self.exponent - step.exponent) {
            // Both factors are below 2^64, so their product fits.
            Ok(surplus) => ((u128::from(self.digits) % step_digits) * power_of_ten(surplus, step_digits))
                .is_multiple_of(step_digits),
            Err(_) => {
                let missing = self.exponent.abs_diff(step.exponent);
                // A step that does not fit is larger than the number.
                let scaled = 10_u128.checked_pow(missing).and_then(|power| step_digits.checked_mul(power));
                scaled.is_some_and(|step| u128::from(self.digits) % step == 0)
            }
        }
    }

    /// Compares two numbers without regard to their signs.
    fn cmp_size(self, other: Self) -> Ordering {
        let place = |number: Self| i64::from(number.digits.ilog10()) + i64::from(number.exponent);
        match (self.digits, other.digits) {
            (0, _) | (_, 0) => return self.digits.cmp(&other.digits),
            _ => {}
        }
        // Numbers of the same order differ by no more than 19 in their exponents.
        let least = self.exponent.min(other.exponent);
        let scaled = |number: Self| u128::from(number.digits) * 10_u128.pow(number.exponent.abs_diff(least));
        place(self).cmp(&place(other)).then_with(|| scaled(self).cmp(&scaled(other)))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_negative, other.is_negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.cmp_size(*other),
            (true, true) => other.cmp_size(*self),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Writes the same text for the same number.
impl fmt::Display for Decimal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_negative { "-" } else { "" };
        write!(formatter, "{sign}{}e{}", self.digits, self.exponent)
    }
}

/// Returns the remainder of `10^exponent` divided by `modulus`, which is below 2^64.
fn power_of_ten(mut exponent: u32, modulus: u128) -> u128 {
    let (mut power, mut base) = (1 % modulus, 10 % modulus);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power * base % modulus;
        }
        base = base * base % modulus;
        exponent >>= 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::of(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn same_numbers_are_equal_however_they_are_written() {
        for (left, right) in
            [("1", "1.0"), ("100", "1e2"), ("-0.0", "0"), ("1e19", "10000000000000000000"), ("0.50", "5e-1")]
        {
            assert_eq!(decimal(left), decimal(right), "{left} {right}");
            assert_eq!(decimal(left).to_string(), decimal(right).to_string());
        }
        assert_ne!(decimal("9007199254740993"), decimal("9007199254740992.0"));
    }

    #[test]
    fn order_is_exact() {
        let ordered = [
            "-1e300",
            "-18446744073709551615.0",
            "-2",
            "-1.5",
            "-1e-300",
            "0",
            "5e-324",
            "0.1",
            "0.11",
            "1",
            "9.99",
            "10",
            "9007199254740992",
            "9007199254740993",
            "18446744073709551614",
            "18446744073709551615",
            "1e300",
            "1.1e300",
        ];
        for (place, left) in ordered.iter().enumerate() {
            for (other, right) in ordered.iter().enumerate() {
                assert_eq!(decimal(left).cmp(&decimal(right)), place.cmp(&other), "{left} {right}");
            }
        }
    }

    #[test]
    fn multiples_are_exact() {
        for (number, step, expected) in [
            ("0.3", "0.1", true),
            ("0.35", "0.1", false),
            ("0.0075", "0.0001", true),
            ("123456789.05", "0.1", false),
            ("12345678.905", "0.01", false),
            ("1e308", "0.5", true),
            ("1e308", "123456789", false),
            ("0", "7", true),
            ("5e-324", "1", false),
            ("-4", "2", true),
            ("18446744073709551615", "5", true),
            ("18446744073709551614", "5", false),
            ("1", "1e300", false),
        ] {
            assert_eq!(decimal(number).is_times(decimal(step)), expected, "{number} {step}");
        }
    }
}

//! Lengths of time as people write them: `45s`, `30m`, `2h`, `14d`.

/// Reads a length of time; gives milliseconds.
pub(crate) fn parse(text: &str) -> Result<i64, String> {
    let units = [("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    let parsed = units.into_iter().find_map(|(unit, millis)| {
        let count: i64 = text.strip_suffix(unit)?.parse().ok()?;
        count.checked_mul(millis).filter(|millis| *millis > 0)
    });
    parsed.ok_or_else(|| "write a number and s, m, h or d, such as 30m, 2h or 14d".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_is_a_number_and_a_unit() {
        assert_eq!(parse("45s"), Ok(45_000));
        assert_eq!(parse("14d"), Ok(14 * 86_400_000));
        for odd in ["", "h", "2", "-1h", "0m", "2 h", "1.5h", "9223372036854775807d", "2w"] {
            assert!(parse(odd).is_err(), "{odd:?}");
        }
    }
}

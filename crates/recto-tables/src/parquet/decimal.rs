//! Formats decimals of any size.
//!
//! No digit must be lost: a value that a 64-bit float shows with the same digits is a number, every
//! other value is text.

use crate::table::Value;

/// More bytes than the 76 digits of the largest decimals need.
const MAX_BYTES: usize = 64;

/// Formats a number that is stored as a big-endian integer and a scale.
pub fn show(bytes: &[u8], scale: usize) -> Value {
    let is_negative = bytes.first().is_some_and(|byte| *byte >= 0x80);
    if bytes.len() > MAX_BYTES || scale > 1000 {
        return Value::Text("(not a decimal)".into());
    }
    let mut text = digits(bytes, is_negative);
    if scale > 0 {
        if text.len() <= scale {
            text.insert_str(0, &"0".repeat(scale + 1 - text.len()));
        }
        text.insert(text.len() - scale, '.');
    }
    if is_negative {
        text.insert(0, '-');
    }
    as_number(&text).unwrap_or(Value::Text(text))
}

/// Returns the digits of a two's complement number without its sign.
fn digits(bytes: &[u8], is_negative: bool) -> String {
    const BASE: u64 = 1_000_000_000;
    // Groups of nine digits, the lowest first.
    let mut groups: Vec<u64> = vec![0];
    let flip = if is_negative { 0xff } else { 0 };
    for byte in bytes {
        let mut carry = u64::from(byte ^ flip);
        add(&mut groups, &mut carry, 256);
    }
    if is_negative {
        add(&mut groups, &mut 1, 1);
    }
    let mut text = String::new();
    for (index, group) in groups.iter().rev().enumerate() {
        text += &if index == 0 { group.to_string() } else { format!("{group:09}") };
    }
    return text;

    fn add(groups: &mut Vec<u64>, carry: &mut u64, factor: u64) {
        for group in groups.iter_mut() {
            let sum = *group * factor + *carry;
            (*group, *carry) = (sum % BASE, sum / BASE);
        }
        if *carry > 0 {
            groups.push(*carry);
        }
    }
}

fn as_number(text: &str) -> Option<Value> {
    if !text.contains('.') {
        return text.parse().ok().map(Value::Integer);
    }
    let number: f64 = text.parse().ok()?;
    let shortest = text.trim_end_matches('0').trim_end_matches('.');
    (number.to_string() == shortest).then_some(Value::Number(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_kept_whatever_the_size() {
        for (number, scale, shown) in [
            (0_i128, 2, Value::Number(0.0)),
            (1230, 2, Value::Number(12.3)),
            (-5, 3, Value::Number(-0.005)),
            (12, 0, Value::Integer(12)),
            (i128::from(i64::MIN), 0, Value::Integer(i64::MIN)),
            (i128::from(i64::MAX) + 1, 0, Value::Text("9223372036854775808".into())),
            (10, 20, Value::Number(1e-19)),
            // Seventeen digits, which a 64-bit float cannot represent.
            (123_456_789_012_345_678, 2, Value::Text("1234567890123456.78".into())),
            (-i128::MAX, 10, Value::Text("-17014118346046923173168730371.5884105727".into())),
            (i128::MIN, 0, Value::Text(i128::MIN.to_string())),
        ] {
            assert_eq!(show(&number.to_be_bytes(), scale), shown);
        }
        assert_eq!(show(&[], 2), Value::Number(0.0));
        assert_eq!(show(&[0xff], 0), Value::Integer(-1));
        let wide: Vec<u8> = std::iter::repeat_n(0x7f, 32).collect();
        let Value::Text(text) = show(&wide, 0) else { unreachable!("it has 77 digits") };
        assert_eq!(text.len(), 77);
    }
}

//! Reading a row: its columns in the order in which the statement names them, each checked as it is read.
//!
//! Databases that people bring along hold NULL where Freehold writes an empty text or 0, and an empty text
//! where a foreign id is absent; both read alike. What cannot be read is an error that names the place.

use std::str::FromStr;

use freehold_domain::clock::Timestamp;
use serde::de::DeserializeOwned;

use crate::StoreError;
use crate::dialect::Row;

/// The columns of one row that were not read yet.
pub(crate) struct Fields<'r> {
    row: Row<'r>,
    table: &'static str,
    id_column: usize,
    next: usize,
}

impl<'r> Fields<'r> {
    /// Reads a row from its first column, the id of a row of `table`.
    pub(crate) fn new(row: Row<'r>, table: &'static str) -> Self {
        Self { row, table, id_column: 0, next: 0 }
    }

    /// Goes on with columns of another table, of which the next column is the id.
    pub(crate) fn begin(&mut self, table: &'static str) {
        self.table = table;
        self.id_column = self.next;
    }

    pub(crate) fn text(&mut self) -> Result<String, StoreError> {
        Ok(self.raw_text()?.unwrap_or_default())
    }

    pub(crate) fn int(&mut self) -> Result<i64, StoreError> {
        let column = self.advance();
        let number = self.row.int(column).map_err(|found| self.corrupt(column, &found))?;
        Ok(number.unwrap_or_default())
    }

    pub(crate) fn flag(&mut self) -> Result<bool, StoreError> {
        Ok(self.int()? != 0)
    }

    /// Reads a number without a sign, which is stored as the signed number of the same bits.
    pub(crate) fn bits(&mut self) -> Result<u64, StoreError> {
        Ok(self.int()?.cast_unsigned())
    }

    pub(crate) fn instant(&mut self) -> Result<Timestamp, StoreError> {
        let column = self.next;
        self.optional_instant()?.ok_or_else(|| self.corrupt(column, "NULL"))
    }

    pub(crate) fn optional_instant(&mut self) -> Result<Option<Timestamp>, StoreError> {
        let column = self.advance();
        self.row.instant(column).map_err(|found| self.corrupt(column, &found))
    }

    /// Reads an instant; none also for what cannot be read.
    pub(crate) fn readable_instant(&mut self) -> Result<Option<Timestamp>, StoreError> {
        let column = self.advance();
        Ok(self.row.instant(column).unwrap_or_default())
    }

    /// Reads nanoseconds since 1970; none also for what cannot be read.
    pub(crate) fn moment(&mut self) -> Result<Option<i128>, StoreError> {
        let column = self.advance();
        Ok(self.row.nanoseconds(column).unwrap_or_default())
    }

    /// Reads an id or a state word.
    pub(crate) fn parse<T: FromStr>(&mut self) -> Result<T, StoreError> {
        let column = self.next;
        let text = self.text()?;
        text.parse().map_err(|_| self.corrupt(column, &text))
    }

    /// Reads an id or a state word; NULL and the empty text mean none.
    pub(crate) fn optional<T: FromStr>(&mut self) -> Result<Option<T>, StoreError> {
        let column = self.next;
        match self.raw_text()? {
            Some(text) if !text.is_empty() => text.parse().map(Some).map_err(|_| self.corrupt(column, &text)),
            _ => Ok(None),
        }
    }

    /// Reads a JSON text; NULL, the empty text and `null` mean the default.
    pub(crate) fn json<T: DeserializeOwned + Default>(&mut self) -> Result<T, StoreError> {
        let column = self.next;
        match self.raw_text()? {
            Some(text) if !text.is_empty() && text != "null" => {
                serde_json::from_str(&text).map_err(|_| self.corrupt(column, &text))
            }
            _ => Ok(T::default()),
        }
    }

    /// Says that the column read last holds `word`, which is not what it ought to be.
    pub(crate) fn reject_last(&self, word: &str) -> StoreError {
        self.corrupt(self.next.saturating_sub(1), word)
    }

    fn raw_text(&mut self) -> Result<Option<String>, StoreError> {
        let column = self.advance();
        self.row.text(column).map_err(|found| self.corrupt(column, &found))
    }

    fn advance(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    fn corrupt(&self, column: usize, found: &str) -> StoreError {
        StoreError::Corrupt {
            table: self.table,
            column: self.row.name(column),
            id: self.row.text(self.id_column).ok().flatten().unwrap_or_default(),
            word: found.chars().take(80).collect(),
        }
    }
}

//! The schema script taken apart, so that what a database lacks can be added to it.
//!
//! It reads what this crate's own script holds and no more of SQL than that: statements end with `;`, comments
//! fill whole lines, and each column or constraint stands between commas.

/// The statements of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Script {
    /// In the order of the script, so that a table stands after those it refers to.
    pub(crate) tables: Vec<Table>,
    /// In the order of the script.
    pub(crate) indexes: Vec<Index>,
}

/// A table with its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// The whole statement.
    pub(crate) sql: String,
    pub(crate) columns: Vec<Column>,
    /// The rows that the table begins with, as statements.
    pub(crate) rows: Vec<String>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// Type, nullability and default.
    pub(crate) definition: String,
}

/// An index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Index {
    pub(crate) name: String,
    pub(crate) table: String,
    /// The whole statement.
    pub(crate) sql: String,
}

impl Script {
    /// Takes the schema apart.
    pub(crate) fn read(sql: &str) -> Self {
        let lines: Vec<&str> = sql.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
        let text = lines.join("\n");
        let mut script = Self { tables: Vec::new(), indexes: Vec::new() };
        for statement in text.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
            let words: Vec<&str> = statement.split_whitespace().collect();
            match words.as_slice() {
                ["CREATE", "TABLE", name, ..] => script.tables.push(Table {
                    name: (*name).to_owned(),
                    sql: statement.to_owned(),
                    columns: columns(statement),
                    rows: Vec::new(),
                }),
                ["CREATE", "INDEX", name, "ON", table, ..]
                | ["CREATE", "UNIQUE", "INDEX", name, "ON", table, ..] => script.indexes.push(Index {
                    name: (*name).to_owned(),
                    table: (*table).to_owned(),
                    sql: statement.to_owned(),
                }),
                ["INSERT", "INTO", name, ..] => {
                    if let Some(table) = script.tables.iter_mut().find(|table| table.name == *name) {
                        table.rows.push(statement.to_owned());
                    }
                }
                _ => {}
            }
        }
        script
    }

    /// A table by its name.
    pub(crate) fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }
}

/// The columns between the outer parentheses.
fn columns(statement: &str) -> Vec<Column> {
    let inside = statement
        .split_once('(')
        .and_then(|(_, rest)| rest.rsplit_once(')'))
        .map_or("", |(inside, _)| inside);
    let column = |item: &str| {
        let (name, definition) = item.trim().split_once(char::is_whitespace)?;
        let is_constraint = ["CONSTRAINT", "UNIQUE", "PRIMARY", "FOREIGN", "CHECK"].contains(&name);
        (!is_constraint).then(|| Column { name: name.to_owned(), definition: definition.trim().to_owned() })
    };
    between_commas(inside).into_iter().filter_map(column).collect()
}

/// Splits at the commas outside parentheses.
fn between_commas(text: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                items.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&text[start..]);
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_taken_apart() {
        let script = Script::read(
            "-- A note; with a semicolon.\nCREATE TABLE a (\n    id TEXT NOT NULL PRIMARY KEY,\n    b TEXT \
             DEFAULT '' REFERENCES c (id),\n    UNIQUE (id, b)\n);\nCREATE UNIQUE INDEX u ON a (b) WHERE b <> '';\n\
             INSERT INTO a (id) VALUES (1);",
        );
        let table = script.table("a").unwrap();
        let columns: Vec<_> =
            table.columns.iter().map(|column| (&*column.name, &*column.definition)).collect();
        assert_eq!(
            columns,
            [("id", "TEXT NOT NULL PRIMARY KEY"), ("b", "TEXT DEFAULT '' REFERENCES c (id)")]
        );
        assert_eq!(table.rows, ["INSERT INTO a (id) VALUES (1)"]);
        let index = &script.indexes[0];
        assert_eq!((&*index.name, &*index.table), ("u", "a"));
    }

    #[test]
    fn every_statement_of_the_schema_is_known() {
        let script = Script::read(crate::schema::SCRIPT);
        let statements = crate::schema::SCRIPT.matches("CREATE ").count();
        assert_eq!(script.tables.len() + script.indexes.len(), statements);
        assert_eq!(script.tables.iter().map(|table| table.rows.len()).sum::<usize>(), 1);
        assert_eq!(script.table("task_environments").unwrap().columns.len(), 13);
        assert_eq!(script.table("task_environment_repos").unwrap().columns.len(), 14);
    }
}

//! From SQL written once to what one engine reads.
//!
//! A mark holds what one engine alone gets: `/*pg FOR UPDATE*/`, `/*sqlite …*/`. One function has two names:
//! `texts($n)` is the list of texts in a JSON array. One operator has two names: `ILIKE`, which SQLite calls
//! `LIKE`.

use super::Engine;

/// Renders a statement or a script.
pub(super) fn statement(sql: &str, engine: Engine) -> String {
    let (kept, dropped) = match engine {
        Engine::Sqlite => ("/*sqlite ", "/*pg "),
        Engine::Postgres => ("/*pg ", "/*sqlite "),
    };
    let sql = replace_marks(sql, dropped, |_| String::new());
    let sql = replace_marks(&sql, kept, str::to_owned);
    match engine {
        Engine::Sqlite => {
            name_texts(&sql, "(SELECT value FROM json_each(", "))").replace(" ILIKE ", " LIKE ")
        }
        Engine::Postgres => name_texts(&sql, "(SELECT json_array_elements_text(", "::text::json))"),
    }
}

/// What an error says was tried: the first line of the SQL.
pub(super) fn title(sql: &str) -> String {
    sql.trim_start().lines().next().unwrap_or_default().to_owned()
}

/// Repeats the row after `VALUES` so that an `INSERT` stores `rows` rows of `columns` values each.
pub(super) fn insert_many(sql: &str, columns: usize, rows: usize) -> String {
    let head = sql.split("VALUES").next().unwrap_or_default();
    let row = |row: usize| {
        let first = row * columns + 1;
        let values: Vec<_> = (first..first + columns).map(|number| format!("${number}")).collect();
        format!("({})", values.join(", "))
    };
    let rows: Vec<_> = (0..rows).map(row).collect();
    format!("{head}VALUES {}", rows.join(", "))
}

fn replace_marks(sql: &str, opening: &str, replacement: impl Fn(&str) -> String) -> String {
    let mut rendered = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some((before, marked)) = rest.split_once(opening) {
        let (inside, after) = marked.split_once("*/").unwrap_or((marked, ""));
        rendered.push_str(before);
        rendered.push_str(&replacement(inside));
        rest = after;
    }
    rendered.push_str(rest);
    rendered
}

fn name_texts(sql: &str, opening: &str, closing: &str) -> String {
    let mut rendered = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some((before, call)) = rest.split_once("texts(") {
        let (argument, after) = call.split_once(')').unwrap_or((call, ""));
        rendered.push_str(before);
        rendered.push_str(opening);
        rendered.push_str(argument);
        rendered.push_str(closing);
        rest = after;
    }
    rendered.push_str(rest);
    rendered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_kept_for_its_engine_alone() {
        let sql = "SELECT 1/*pg  FOR UPDATE*/ /*sqlite A*/ WHERE a IN texts($1) AND b ILIKE $2";
        assert_eq!(
            statement(sql, Engine::Sqlite),
            "SELECT 1 A WHERE a IN (SELECT value FROM json_each($1)) AND b LIKE $2"
        );
        assert_eq!(
            statement(sql, Engine::Postgres),
            "SELECT 1 FOR UPDATE  WHERE a IN (SELECT json_array_elements_text($1::text::json)) AND b ILIKE $2"
        );
    }

    #[test]
    fn an_insert_is_repeated_with_new_numbers() {
        let sql = insert_many("INSERT INTO t (a, b) VALUES ($1, $2)", 2, 2);
        assert_eq!(sql, "INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4)");
    }
}

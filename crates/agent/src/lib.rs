//! Agents over ACP: starts, supervises and reaps them; knows no database.

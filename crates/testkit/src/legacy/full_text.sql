-- The full-text index over tasks, which SQLite alone has, and the triggers that keep it.

CREATE VIRTUAL TABLE tasks_fts USING fts5 (title, description, identifier);

CREATE TRIGGER tasks_fts_insert AFTER INSERT ON tasks BEGIN
    INSERT INTO tasks_fts (rowid, title, description, identifier)
    VALUES (new.rowid, new.title, coalesce(new.description, ''), coalesce(new.identifier, ''));
END;

CREATE TRIGGER tasks_fts_delete AFTER DELETE ON tasks BEGIN
    DELETE FROM tasks_fts WHERE rowid = old.rowid;
END;

CREATE TRIGGER tasks_fts_update AFTER UPDATE ON tasks BEGIN
    DELETE FROM tasks_fts WHERE rowid = old.rowid;
    INSERT INTO tasks_fts (rowid, title, description, identifier)
    VALUES (new.rowid, new.title, coalesce(new.description, ''), coalesce(new.identifier, ''));
END;

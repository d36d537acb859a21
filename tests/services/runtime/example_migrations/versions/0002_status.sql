ALTER TABLE example_heads ADD COLUMN status text NOT NULL DEFAULT 'open';
CREATE INDEX example_heads_open ON example_heads (version) WHERE status = 'open';

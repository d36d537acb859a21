CREATE TABLE example_heads (id text PRIMARY KEY, version bigint NOT NULL);
CREATE TABLE epochs (one boolean PRIMARY KEY DEFAULT true CHECK (one), number bigint NOT NULL DEFAULT 0);
INSERT INTO epochs DEFAULT VALUES;
CREATE FUNCTION example_double(n bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN 2 * n;
END;
$$;

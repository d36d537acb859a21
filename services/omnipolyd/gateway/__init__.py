"""The public face: sessions, the lobby, playing and watching. Everything here lives in memory; clients resume."""

"""Sign-in with OpenID Connect: the authorization code flow with PKCE, against any issuer, found by discovery."""

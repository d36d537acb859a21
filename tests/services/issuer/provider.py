"""An OpenID provider as a process of its own: django-oauth-toolkit, with a login that believes every name.

    python -m tests.services.issuer.provider FOLDER PORT

What it is comes from the folder: ``key.pem`` signs, ``old.pem`` is still published; ``clients.json`` names its clients.
``tweak.json`` makes its ID tokens wrong: the provider goes about everything as ever, and what it signs last is changed.
It appends each request to ``requests.log`` and ends with its standard input.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings

FOLDER, PORT = Path(sys.argv[1]), int(sys.argv[2])
ISSUER = f"http://127.0.0.1:{PORT}"

settings.configure(
    SECRET_KEY="only for these tests",
    ALLOWED_HOSTS=["127.0.0.1"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(FOLDER / "provider.sqlite"),
            "OPTIONS": {"timeout": 30, "transaction_mode": "IMMEDIATE", "init_command": "PRAGMA synchronous=OFF"},
        }
    },
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "oauth2_provider",
    ],
    MIGRATION_MODULES=dict.fromkeys(("auth", "contenttypes", "sessions", "oauth2_provider")),
    MIDDLEWARE=[
        f"{__name__}.spoil",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    ROOT_URLCONF=__name__,
    LOGIN_URL="/login/",
    USE_TZ=True,
    LOGGING={
        "version": 1,
        "handlers": {"stderr": {"class": "logging.StreamHandler"}},
        "loggers": {"django.request": {"handlers": ["stderr"], "level": "ERROR", "propagate": False}},
    },
    OAUTH2_PROVIDER={
        "OIDC_ENABLED": True,
        "OIDC_ISS_ENDPOINT": ISSUER,
        "OIDC_RSA_PRIVATE_KEY": (FOLDER / "key.pem").read_text(),
        "OIDC_RSA_PRIVATE_KEYS_INACTIVE": [path.read_text() for path in FOLDER.glob("old.pem")],
        "OAUTH2_VALIDATOR_CLASS": f"{__name__}.Validator",
        "SCOPES": {"openid": "who you are", "profile": "what you are called"},
        "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
    },
)
django.setup()

from django.contrib.auth import get_user_model, login  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect  # noqa: E402
from django.urls import include, path  # noqa: E402
from jwcrypto import jwk, jwt  # noqa: E402
from oauth2_provider.models import get_application_model  # noqa: E402
from oauth2_provider.oauth2_validators import OAuth2Validator  # noqa: E402
from oauth2_provider.settings import oauth2_settings  # noqa: E402


def tweak() -> dict[str, Any]:
    """What is to be wrong now."""
    file = FOLDER / "tweak.json"
    return dict(json.loads(file.read_text())) if file.exists() else {}


class Validator(OAuth2Validator):  # type: ignore[misc]
    """The provider's own, with names in its claims, and whatever is to be wrong."""

    def get_additional_claims(self, request: Any) -> dict[str, Any]:
        return {} if tweak().get("shy") else {"preferred_username": request.user.username}

    def get_userinfo_claims(self, request: Any) -> dict[str, Any]:
        claims = super().get_userinfo_claims(request)
        return dict(claims) | dict(tweak().get("userinfo", {}))

    def get_id_token_dictionary(self, token: Any, token_handler: Any, request: Any) -> Any:
        claims, expires = super().get_id_token_dictionary(token, token_handler, request)
        return claims | tweak().get("claims", {}), expires

    def finalize_id_token(self, id_token: Any, token: Any, token_handler: Any, request: Any) -> str:
        signed: str = super().finalize_id_token(id_token, token, token_handler, request)
        wrong = tweak()
        for claim in wrong.get("without", ()):
            signed = again(signed, lambda _, claims, claim=claim: claims.pop(claim))
        return signing(signed, wrong.get("signed", ""))


def again(signed: str, change: Any, key: Any = None) -> str:
    """The same token, changed and signed once more, by the provider's key unless another is given."""
    head, body, _ = signed.split(".")
    header, claims = json.loads(decoded(head)), json.loads(decoded(body))
    change(header, claims)
    token = jwt.JWT(header=json.dumps(header), claims=json.dumps(claims))
    token.make_signed_token(key or jwk.JWK.from_pem(oauth2_settings.OIDC_RSA_PRIVATE_KEY.encode()))
    return str(token.serialize())


def signing(signed: str, how: str) -> str:
    """A token whose signature is wrong in some way."""
    head, body, mark = signed.split(".")
    header = json.loads(decoded(head))
    if how == "another key":
        return again(signed, lambda *_: None, other_key())
    if how == "unknown key":
        return again(signed, lambda header, _: header.update(kid="nobody's"), other_key())
    if how == "no key id":
        return again(signed, lambda header, _: header.pop("kid"))
    if how == "other body":
        claims = json.loads(decoded(body)) | {"sub": "4711"}
        return f"{head}.{encoded(json.dumps(claims).encode())}.{mark}"
    if how == "none":
        return f"{encoded(json.dumps(header | {'alg': 'none'}).encode())}.{body}."
    if how == "public key as secret":
        public = jwk.JWK.from_pem(oauth2_settings.OIDC_RSA_PRIVATE_KEY.encode()).export_to_pem()
        start = f"{encoded(json.dumps(header | {'alg': 'HS256'}).encode())}.{body}"
        return f"{start}.{encoded(hmac.new(public, start.encode(), hashlib.sha256).digest())}"
    return signed[:-8] if how == "cut off" else signed


def other_key() -> Any:
    """A key that is nobody's."""
    return jwk.JWK.from_pyca(rsa.generate_private_key(public_exponent=65537, key_size=2048))


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def spoil(respond: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Puts something else in the place of the ID token, if that is to be: the provider itself reads what it signs."""

    def spoiling(request: HttpRequest) -> HttpResponse:
        response = respond(request)
        if request.path == "/token/" and "instead" in (wrong := tweak()):
            return HttpResponse(json.dumps(json.loads(response.content) | {"id_token": wrong["instead"]}))
        return response

    return spoiling


def sign_in(request: HttpRequest) -> HttpResponse:
    """The login page: believes the name in the query, and goes on to where it was asked from."""
    user, _ = get_user_model().objects.get_or_create(username=request.GET["username"])
    login(request, user, "django.contrib.auth.backends.ModelBackend")
    return HttpResponseRedirect(request.GET["next"])


urlpatterns = [path("login/", sign_in), path("", include("oauth2_provider.urls", namespace="oauth2_provider"))]


def prepare() -> None:
    """Tables and clients, at the first start."""
    call_command("migrate", run_syncdb=True, verbosity=0)
    applications = get_application_model()
    for client in json.loads((FOLDER / "clients.json").read_text()):
        applications.objects.get_or_create(
            client_id=client["client_id"],
            defaults={
                "client_type": "confidential" if client["client_secret"] else "public",
                "authorization_grant_type": "authorization-code",
                "client_secret": client["client_secret"],
                "hash_client_secret": False,
                "algorithm": client.get("algorithm", "RS256"),
                "redirect_uris": "http://127.0.0.1/signed-in https://play.example/signed-in",
                "skip_authorization": True,
            },
        )


class Server(ThreadingMixIn, WSGIServer):
    """Takes several requests at once."""

    daemon_threads = True


class Handler(WSGIRequestHandler):
    """Writes down what was asked."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        scheme = self.headers.get("authorization", "").partition(" ")[0]
        line = f"{self.command} {self.path.partition('?')[0]} {scheme}\n"
        with (FOLDER / "requests.log").open("a") as log:
            log.write(line)


def end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    prepare()
    with make_server("127.0.0.1", PORT, get_wsgi_application(), Server, Handler) as server:
        threading.Thread(target=end_with_parent, daemon=True).start()
        sys.stdout.write("up\n")
        sys.stdout.flush()
        server.serve_forever()

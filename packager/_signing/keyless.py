"""Signers without a key of their own: a short-lived certificate for an identity, and a public log.

`sigstore` is asked, of an extra of that name. Verifying asks no network: the root of trust is the one that
its wheel brings, or a file. Signing asks for the certificate and the entry in the log.
"""

from __future__ import annotations

import json
from importlib.resources import files

from packager._texts import one_line
from packager.errors import SignatureError, SignersError

from .bundles import Bundle

try:
    from sigstore.dsse import Statement
    from sigstore.errors import Error
    from sigstore.models import Bundle as Theirs
    from sigstore.models import ClientTrustConfig, TrustedRoot
    from sigstore.oidc import IdentityToken, detect_credential
    from sigstore.sign import SigningContext
    from sigstore.verify import Verifier, policy
    from sigstore_models.trustroot import v1
except ImportError as error:
    raise SignersError("identities need sigstore: python -m pip install 'kellet[sigstore]'") from error

_REPOSITORY = "https%3A%2F%2Ftuf-repo-cdn.sigstore.dev"
_ODD = (Error, ValueError, TypeError, KeyError, AttributeError)


def verify_keyless(bundle: Bundle, identity: str, issuer: str, trust_root: bytes | None) -> None:
    """Check that `identity`, as `issuer` knows it, signed the payload, and that the log has it.

    Raises ValueError, with the reason, where not, and SignersError for a root of trust that cannot be read.
    """
    try:
        data = trust_root or files("sigstore._store").joinpath(_REPOSITORY, "trusted_root.json").read_bytes()
        if "trustedRoot" in json.loads(data):
            root = ClientTrustConfig.from_json(data.decode()).trusted_root
        else:
            root = TrustedRoot(v1.TrustedRoot.from_json(data))
        verifier = Verifier(trusted_root=root)
    except (*_ODD, OSError) as error:
        raise SignersError(
            f"trust_root, --trust-root: no root of trust for sigstore ({one_line(str(error))[:120]}). Give "
            "its trusted_root.json, or leave the option out"
        ) from error
    try:
        asked = policy.Identity(identity=identity, issuer=issuer)
        _, payload = verifier.verify_dsse(Theirs.from_json(bundle.text), asked)
    except _ODD as error:
        raise ValueError(f"sigstore: {error}") from error
    if payload != bundle.payload:
        raise ValueError("sigstore: another payload")


def sign_keyless(payload: bytes) -> bytes:
    """Return a bundle that the identity of this process signed: that of a job whose CI hands out tokens.

    Raises SignatureError where there is no such identity, or the network does not answer.
    """
    try:
        token = detect_credential()
        if token is None:
            raise SignatureError("this process has no identity to sign as; run it in a job that may have one")
        context = SigningContext.from_trust_config(ClientTrustConfig.production())
        with context.signer(IdentityToken(token)) as signer:
            return str(signer.sign_dsse(Statement(payload)).to_json()).encode()
    except (*_ODD, OSError) as error:
        raise SignatureError(f"signing without a key failed: {error}") from error

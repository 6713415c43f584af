"""`kellet sign`: sign an archive with a key, in it or beside it; nothing of it is run."""

from __future__ import annotations

from packager.errors import ArgumentError

from .archives import add_signing
from .screen import print_lines

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    import argparse

EPILOG = """\
examples:
  kellet sign net.kellet --key team.pem --by "vision team"
  kellet sign net.kellet --key ci.pem --cert chain.pem --detached
  kellet sign net.kellet --key team.pem --oms

to make a key, private and public:
  openssl ecparam -name prime256v1 -genkey -noout -out team.pem
  openssl ec -in team.pem -pubout -out team.pub

The signature covers the identity, which stands for every byte, so no weights are read. It becomes an entry of
the archive, and no other entry changes. An archive can have several. KELLET_KEY_PASSWORD holds the password
of an encrypted key. With --key keyless the identity of a CI job signs, over the network.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser.add_argument("file", metavar="FILE", help="the archive, or the folder of an unzipped one")
    add_signing(parser, "--key", required=True)
    parser.add_argument(
        "--name", default="", metavar="NAME", help="the name of the signature (default: that of the key)"
    )
    parser.add_argument("--replace", action="store_true", help="replace a signature of that name")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--detached", action="store_true", help="write it beside the file, as FILE.sigstore.json"
    )
    where.add_argument(
        "--oms",
        action="store_true",
        help="write FILE.sig, for verifiers of OpenSSF Model Signing; reads the file once",
    )


def run(options: argparse.Namespace) -> int:
    """Write the signature, and say where it is. Raises ArgumentError for a name of one beside the file."""
    from packager._signing import Signer, sign_archive, sign_files

    if options.name and (options.detached or options.oms):
        raise ArgumentError("--name: a signature beside the file is named after the file. Leave out --name")
    signer = Signer.of(options.key, cert=options.cert, name=options.name, by=options.by)
    if options.oms:
        written = sign_files(options.file, signer, replace=options.replace)
    else:
        written = sign_archive(options.file, signer, detached=options.detached, replace=options.replace)
    who = f"by key {signer.key.public.fingerprint}" if signer.key else "by the identity of this job"
    print_lines(f"{options.file}: signed {who}", f"    in {written}")
    return 0

"""Storage that is reached by URL, for tests: memory, and an S3 server of this process."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def upload(root: Path, url: str) -> str:
    """Copy a dataset to a URL and return the URL."""
    from upath import UPath

    target = UPath(url)
    for path in root.rglob("*"):
        if path.is_file():
            copy = target / path.relative_to(root).as_posix()
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    return url


@contextmanager
def s3_server() -> Iterator[str]:
    """Serve S3 on loopback, with the environment that leads there, and yield the URL of a bucket."""
    import boto3
    import s3fs
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    environment = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()  # another server may have been there
        try:
            boto3.client("s3").create_bucket(Bucket="robots")
            yield "s3://robots"
        finally:
            s3fs.S3FileSystem.clear_instance_cache()
            server.stop()


def free_port() -> int:
    """A port of loopback at which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

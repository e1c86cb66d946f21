"""Against openpi's own client package, where it is installed (it wants numpy below 2)."""

from __future__ import annotations

import numpy as np
import pytest

from recorder.policies.wire import openpi_messages as messages
from recorder.policies.wire.views import resize_with_pad
from tests.recorder.wire.policy_server import policy_server, still

pytest.importorskip("openpi_client", reason="pip install openpi-client typing_extensions")


def test_messages_are_openpis_byte_for_byte():
    from openpi_client import msgpack_numpy

    message = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": [1, "x", None], "c": np.float32(2)}
    assert messages.pack(message) == msgpack_numpy.packb(message)
    assert np.array_equal(messages.unpack(msgpack_numpy.packb(message))["a"], message["a"])


@pytest.mark.parametrize("shape", [(256, 256), (480, 640), (100, 300), (31, 17), (641, 333)])
def test_images_are_resized_as_openpi_does(shape):
    from openpi_client import image_tools

    image = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    assert np.array_equal(resize_with_pad(image, 224, 224), image_tools.resize_with_pad(image, 224, 224))


def test_openpis_client_understands_the_server_of_these_tests():
    from openpi_client.websocket_client_policy import WebsocketClientPolicy

    with policy_server() as server:
        client = WebsocketClientPolicy(server.url)
        assert client.get_server_metadata() == server.metadata
        reply = client.infer({"observation/state": np.zeros(8), "prompt": "go"})
    assert np.array_equal(reply["actions"], still()["actions"])

"""The client of openpi's protocol against a server that is slow, dies, lies and floods."""

from __future__ import annotations

import contextlib
import hashlib
import socket
import threading
import time

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mango_trace.errors import UsageError
from recorder.errors import PolicyFailedError, PolicyLostError, PolicyReplyError, PolicyUnavailableError
from recorder.policies.base import EpisodeContext
from recorder.policies.chunks import ChunkedPolicy, check_chunk
from recorder.policies.wire import openpi_messages as messages
from recorder.policies.wire.deadlines import Deadlines
from recorder.policies.wire.openpi import MOST_BYTES, OpenpiModel
from tests.recorder.wire.policy_server import Crash, encode, policy_server, still

QUICK = Deadlines(connect_s=5, first_reply_s=5, reply_s=5)
EPISODE = EpisodeContext(None, "libero_10", 3, "task", "close the drawer", 0, 0, 7)


def observation(seed=0):
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, (256, 256, 3), dtype=np.uint8)
    return {
        "agentview_image": image,
        "robot0_eye_in_hand_image": image[::-1],
        "robot0_eef_pos": np.array([0.1, 0.2, 0.9]),
        "robot0_eef_quat": np.array([1.0, 0.0, 0.0, 0.0]),
        "robot0_gripper_qpos": np.array([0.02, -0.02]),
    }


def model(url, deadlines=QUICK, **rest):
    opened = OpenpiModel(url, deadlines, **rest)
    opened.reset(EPISODE)
    return opened


ARRAYS = hnp.arrays(
    st.sampled_from(["<f4", ">f8", "|u1", "<i8", "|b1", "<f2"]),
    hnp.array_shapes(min_dims=0, max_side=4, min_side=0),
)


@given(ARRAYS)
def test_an_array_comes_back_as_it_was_sent(array):
    (back,) = messages.unpack(messages.pack([array]))
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tobytes() == array.tobytes()


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_a_message_or_an_error_of_ours(data):
    with contextlib.suppress(PolicyReplyError):
        messages.unpack(data)


def array(**changes):
    fields = {b"__ndarray__": True, b"data": b"\0" * 8, b"dtype": "<f8", b"shape": (1,), **changes}
    return msgpack.packb({key.encode() if isinstance(key, str) else key: v for key, v in fields.items()})


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (array(dtype="|O8"), "numbers and booleans"),
        (array(dtype="O"), "numbers and booleans"),
        (array(dtype="<U2"), "numbers and booleans"),
        (array(dtype=[["f", "<f8"]]), "numbers and booleans"),
        (array(dtype="<f1"), "numpy does not know"),
        (array(shape=(2,)), "comes with 8 bytes"),
        (array(shape=(1 << 62, 1 << 62)), "comes with 8 bytes"),
        (array(shape=(-1,)), "shape"),
        (array(shape=(True,)), "shape"),
        (array(shape=[1] * 40), "shape"),
        (array(shape=8), "shape"),
        (array(data="text"), "comes with str"),
        (msgpack.packb({b"__npgeneric__": True, b"data": b"x", b"dtype": "<f8"}), "numpy number"),
        (msgpack.packb({b"__npgeneric__": True, b"data": 300, b"dtype": "|u1"}), "does not fit"),
        (b"\xc1", "no msgpack message"),
        (b"", "no msgpack message"),
        (msgpack.packb(1) * 2, "no msgpack message"),
        (b"\x91" * 5000, "no msgpack message"),
        (b"\xdd\xff\xff\xff\xff", "no msgpack message"),
    ],
)
def test_what_is_no_message_of_numbers_is_refused(message, words):
    with pytest.raises(PolicyReplyError, match=words):
        messages.unpack(message)


def test_an_array_of_objects_is_never_sent():
    with pytest.raises(TypeError, match="object"):
        messages.pack({"x": np.array([object()])})
    with pytest.raises(TypeError, match="set"):
        messages.pack({"x": {1}})


def test_the_observation_goes_out_in_openpis_form():
    with policy_server() as server:
        chunk = model(server.url).infer(observation())
        (sent,) = server.requests
    assert set(sent) == {"observation/image", "observation/wrist_image", "observation/state", "prompt"}
    assert sent["prompt"] == "close the drawer"
    for name in ("observation/image", "observation/wrist_image"):
        assert (sent[name].dtype, sent[name].shape) == (np.uint8, (224, 224, 3))
    # Half a turn about x is pi times the x axis.
    assert np.allclose(sent["observation/state"], [0.1, 0.2, 0.9, np.pi, 0, 0, 0.02, -0.02])
    assert np.array_equal(chunk, still()["actions"])


def test_images_are_turned_by_half_a_turn():
    from recorder.policies.wire.views import camera

    image = np.zeros((4, 6, 3), np.uint8)
    image[0, 0] = 255
    turned = camera({"agentview_image": image}, "agentview")
    assert turned[-1, -1].tolist() == [255] * 3
    assert turned.sum() == 3 * 255


@pytest.mark.parametrize(("height", "width"), [(256, 256), (480, 640), (100, 300), (224, 224), (31, 17)])
def test_resizing_keeps_proportions_and_pads_with_black(height, width):
    from recorder.policies.wire.views import resize_with_pad

    white = np.full((height, width, 3), 255, np.uint8)
    resized = resize_with_pad(white, 224, 224)
    ratio = max(height, width) / 224
    rows, columns = (int(size / ratio) for size in (height, width))
    assert resized.shape == (224, 224, 3)
    assert int((resized == 255).all(axis=2).sum()) == rows * columns
    assert (resized == resized[:, ::-1]).mean() > 0.98  # the margins are equal, up to a pixel


def test_a_chunk_is_played_for_its_first_steps_then_asked_again():
    counted = {"actions": np.arange(70.0).reshape(10, 7)}
    with policy_server(lambda n, _: {"actions": counted["actions"] + 100 * n}) as server:
        policy = ChunkedPolicy("p", "1", OpenpiModel(server.url, QUICK), 3)
        policy.reset(EPISODE)
        actions = [policy.act(observation()) for _ in range(7)]
        assert len(server.requests) == 3
        assert [int(action[0]) for action in actions] == [100, 107, 114, 200, 207, 214, 300]
        policy.reset(EPISODE)  # what is left of a chunk is of the old episode
        assert int(policy.act(observation())[0]) == 400
        assert server.connections == 1
        policy.close()


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        (np.zeros((5, 6)), r"\(5, 6\), expected \(n, 7\)"),
        (np.zeros((2, 5, 7)), "shape"),
        (np.zeros((4, 7)), "4 actions came, 5 are to be played"),
        (np.zeros((0, 7)), "0 actions came"),
        (np.full((5, 7), np.nan), "action 0 has nan at entry 0"),
        (np.full((5, 7), np.inf, np.float32), "finite"),
        ([[1.0] * 7] * 4 + [[1.0]], "no array"),
        ("left", "numbers"),
        ({"x": 1}, "numbers"),
        (None, "numbers"),
        (np.ones((5, 7), bool), "bool"),
    ],
)
def test_a_chunk_that_cannot_be_played_is_refused(actions, words):
    with pytest.raises(PolicyReplyError, match=words):
        check_chunk(actions, 7, 5)


def test_a_chunk_of_integers_or_of_foreign_byte_order_is_played():
    assert check_chunk(np.ones((5, 7), np.int64), 7, 5).dtype == np.float64
    big = check_chunk(np.arange(35.0).reshape(5, 7).astype(">f4"), 7, 5)
    assert np.array_equal(big, np.arange(35.0).reshape(5, 7))


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        ("Traceback\n  ...\nRuntimeError: out of memory\n", PolicyFailedError, "RuntimeError: out of memory"),
        (b"\xc1", PolicyReplyError, "no msgpack message"),
        ({"action": np.zeros((5, 7))}, PolicyReplyError, r"keys \['action'\], expected 'actions'"),
        ([1, 2], PolicyReplyError, "expected 'actions'"),
    ],
)
def test_a_wrong_reply_is_an_error_that_says_what_came(reply, error, words):
    with policy_server(lambda *_: reply) as server:
        asked = model(server.url)
        with pytest.raises(error, match=words):
            asked.infer(observation())
        asked.close()


@pytest.mark.parametrize(
    ("greeting", "error"),
    [("Traceback: no", PolicyFailedError), (b"\x01", PolicyReplyError), (b"\xc1", PolicyReplyError)],
)
def test_a_server_that_greets_in_another_way_is_no_policy_server(greeting, error):
    with policy_server(metadata=greeting) as server, pytest.raises(error):
        model(server.url)


def test_a_message_of_more_than_a_mebibyte_passes_and_one_over_the_bound_does_not():  # O-79
    sizes = [1_229_104, MOST_BYTES + 1]

    def answer(n, _):
        return still() | {"debug": np.zeros(sizes[n - 1], np.uint8)}

    with policy_server(answer) as server:
        asked = model(server.url)
        assert len(asked.infer(observation())) == 10
        with pytest.raises(PolicyLostError, match="1009"):
            asked.infer(observation())
        asked.reset(EPISODE)  # the server lives, and the next episode finds it
        sizes.append(1)
        assert len(asked.infer(observation())) == 10
        asked.close()


def test_a_slow_first_reply_needs_no_ping_to_stay_connected():  # O-80, with shorter times
    """The server is deaf while it infers, and would miss pings; replies after the first are quick."""

    def answer(n, _):
        time.sleep(1.5 if n == 1 else 0)
        return still()

    with policy_server(answer) as server:
        asked = model(server.url, Deadlines(connect_s=5, first_reply_s=10, reply_s=1))
        assert len(asked.infer(observation())) == 10
        assert len(asked.infer(observation())) == 10
        assert server.connections == 1
        asked.close()


@pytest.mark.slow
def test_a_first_reply_after_45_seconds_is_taken():  # O-80
    def answer(n, _):
        time.sleep(45 if n == 1 else 0)
        return still()

    with policy_server(answer) as server:
        asked = model(server.url, Deadlines())
        assert len(asked.infer(observation())) == 10
        assert server.connections == 1
        asked.close()


def test_a_reply_that_does_not_come_in_time_ends_the_connection():
    """A late reply would else be taken for the next one."""
    held = threading.Event()

    def answer(n, _):
        if n == 2:
            held.wait(20)
        return {"actions": np.full((10, 7), n)}

    with policy_server(answer) as server:
        asked = model(server.url, Deadlines(connect_s=5, first_reply_s=5, reply_s=0.3))
        assert asked.infer(observation())[0, 0] == 1
        started = time.monotonic()
        with pytest.raises(PolicyLostError, match=r"did not reply within 0.3 s"):
            asked.infer(observation())
        assert time.monotonic() - started < 5
        held.set()
        asked.reset(EPISODE)
        assert asked.infer(observation())[0, 0] == 3
        assert server.connections == 2
        asked.close()


def test_a_server_that_reads_nothing_is_not_waited_for_without_end():
    """It takes the connection and greets; the observation does not fit into the socket's buffers."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)

    def serve():
        import base64

        connection, _ = listening.accept()
        request = connection.recv(65536).decode()
        key = next(
            line.split(": ")[1]
            for line in request.split("\r\n")
            if line.lower().startswith("sec-websocket-key")
        )
        accept = base64.b64encode(
            hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()
        ).decode()
        greeting = encode({})
        connection.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode()
            + bytes([0x82, len(greeting)])
            + greeting
        )
        done.wait(20)
        connection.close()

    done = threading.Event()
    thread = threading.Thread(target=serve)
    thread.start()
    try:
        port = listening.getsockname()[1]
        asked = model(f"ws://127.0.0.1:{port}", Deadlines(connect_s=5, first_reply_s=0.5, reply_s=0.5))
        asked._instruction = "x" * 30_000_000
        started = time.monotonic()
        with pytest.raises(PolicyLostError, match="read nothing in time"):
            asked.infer(observation())
        assert time.monotonic() - started < 10
    finally:
        done.set()
        thread.join()
        listening.close()


def test_a_server_that_dies_is_lost_and_found_again_when_it_is_back():
    def answer(n, _):
        if n == 2:
            raise Crash
        return still()

    with policy_server(answer) as server:
        asked = model(server.url)
        asked.infer(observation())
        with pytest.raises(PolicyLostError, match="broke"):
            asked.infer(observation())
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(PolicyUnavailableError, match="no policy server"):
        OpenpiModel(server.url, Deadlines(connect_s=0.2)).connect()
    back = threading.Timer(1.5, lambda: started.set())
    started = threading.Event()
    back.start()

    def serve_later():
        started.wait()
        with policy_server(port=port):
            done.wait(20)

    done = threading.Event()
    thread = threading.Thread(target=serve_later)
    thread.start()
    try:
        asked.reset(EPISODE)  # waits for it
        assert len(asked.infer(observation())) == 10
        asked.close()
    finally:
        done.set()
        thread.join()


def test_another_policy_at_the_same_address_is_noticed():
    with policy_server(metadata={"step": 1}) as server:
        digest, metadata = (first := OpenpiModel(server.url, QUICK)).connect()
        assert metadata == {"step": 1}
        first.close()
        same = OpenpiModel(server.url, QUICK, digest)
        same.reset(EPISODE)
        same.close()
        server.metadata = {"step": 2}
        with pytest.raises(PolicyUnavailableError, match=r"another policy than before.*step"):
            same.reset(EPISODE)


def test_the_key_is_sent_and_never_shown(monkeypatch):
    monkeypatch.setenv("OPENPI_API_KEY", "secret-1")

    def refuse(connection, request):
        return (
            None
            if request.headers.get("Authorization") == "Api-Key secret-1"
            else connection.respond(403, "no")
        )

    with policy_server(process_request=refuse) as server:
        asked = model(server.url)
        assert len(asked.infer(observation())) == 10
        asked.close()
        monkeypatch.setenv("OPENPI_API_KEY", "secret-2")
        started = time.monotonic()
        with pytest.raises(PolicyUnavailableError, match="403") as caught:
            model(server.url, Deadlines())
        assert time.monotonic() - started < 5  # trying again would not help
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["ws://", "ws://127.0.0.1:port", "ws://:80", "ws://h:0", "ws://[::1"])
def test_what_is_no_address_is_said_to_be_none(url):
    with pytest.raises(UsageError, match="no address"):
        OpenpiModel(url, QUICK)


def test_an_address_shows_no_secret():
    assert OpenpiModel("wss://host/path?token=1", QUICK).name == "wss://host/path"
    with pytest.raises(UsageError, match="OPENPI_API_KEY") as caught:
        OpenpiModel("ws://me:hidden@host:1", QUICK)
    assert "hidden" not in str(caught.value)


def test_a_host_that_does_not_exist_is_not_waited_for():
    started = time.monotonic()
    with pytest.raises(PolicyUnavailableError, match="gaierror"):
        OpenpiModel("ws://no-such-host.invalid:1", Deadlines()).connect()
    assert time.monotonic() - started < 10

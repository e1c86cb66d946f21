"""The client of GR00T's protocol against a server that is slow, dies and lies."""

from __future__ import annotations

import contextlib
import io
import threading
import time

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mango_trace.errors import UsageError
from mango_trace.store import Dataset
from recorder.errors import PolicyFailedError, PolicyLostError, PolicyReplyError, PolicyUnavailableError
from recorder.policies.source import PolicyOptions, resolve
from recorder.policies.wire import gr00t_messages as messages
from recorder.policies.wire.deadlines import Deadlines
from recorder.policies.wire.gr00t import MOST_BYTES, Gr00tModel
from tests.recorder.wire.gr00t_server import LANGUAGE, chunk, gr00t_server, modalities
from tests.recorder.wire.test_openpi import ARRAYS, EPISODE, observation
from tests.recorder.wire.test_recording import record

QUICK = Deadlines(connect_s=5, first_reply_s=5, reply_s=5)


def opened(url, deadlines=QUICK, **rest):
    model = Gr00tModel(url, deadlines, **rest)
    model.reset(EPISODE)
    return model


@given(ARRAYS)
def test_an_array_comes_back_as_it_was_sent(array):
    for sent in (array, array.copy(order="F")):
        (back,) = messages.unpack(messages.pack([sent]))
        assert (back.dtype, back.shape) == (array.dtype, array.shape)
        assert back.tobytes() == array.tobytes()


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_an_array_or_an_error_of_ours(data):
    for message in (data, msgpack.packb({"__ndarray_class__": True, "as_npy": b"\x93NUMPY\x01\x00" + data})):
        with contextlib.suppress(PolicyReplyError):
            messages.unpack(message)


def npy(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return msgpack.packb({"__ndarray_class__": True, "as_npy": file.getvalue()})


def claiming(shape):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return msgpack.packb({"__ndarray_class__": True, "as_npy": file.getvalue() + b"\0" * 8})


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (npy(np.array([print]), allow_pickle=True), "numbers and booleans"),
        (npy(np.array(["text"])), "numbers and booleans"),
        (npy(np.zeros(2, [("a", "<f8")])), "numbers and booleans"),
        (claiming((1 << 40,)), "comes with 8 bytes"),
        (claiming((1 << 62, 1 << 62)), "comes with 8 bytes"),
        (claiming((2,)), "comes with 8 bytes"),
        (msgpack.packb({"__ndarray_class__": True}), "comes as NoneType"),
        (msgpack.packb({"__ndarray_class__": True, "as_npy": b"\x93NUMPY\x03\x00"}), "no .npy header"),
        (msgpack.packb({"__ndarray_class__": True, "as_npy": b"\x80\x04N."}), "no .npy header"),
        (b"\xc1", "no msgpack message"),
    ],
)
def test_what_is_no_message_of_numbers_is_refused(message, words):
    with pytest.raises(PolicyReplyError, match=words):
        messages.unpack(message)


def test_the_observation_goes_out_in_gr00ts_form_and_its_actions_become_liberos():
    with gr00t_server(lambda *_: chunk(x=0.5, yaw=-0.25, gripper=0.9)) as server:
        model = opened(server.url)
        actions = model.infer(observation())
        (sent,) = server.requests
        assert server.calls == ["ping", "get_modality_config", "reset", "get_action"]
        model.reset(EPISODE)  # the connection is kept
        assert server.calls[4:] == ["reset"]
        model.close()
    assert sent[LANGUAGE] == ["close the drawer"]
    assert np.array_equal(sent["video.image"][0, 0], observation()["agentview_image"][::-1, ::-1])
    assert np.allclose(sent["state.roll"], np.pi)
    assert np.allclose(sent["state.gripper"], [0.02, -0.02])
    assert actions.shape == (16, 7)
    assert actions[0].tolist() == [0.5, 0, 0, 0, 0, -0.25, -1.0]  # 0.9 is open, which LIBERO calls -1


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        ({"error": "CUDA out of memory"}, PolicyFailedError, "CUDA out of memory"),
        (b"\xc1", PolicyReplyError, "no msgpack message"),
        ((chunk(), b""), PolicyReplyError, "get_action with several frames, expected one"),
        ((chunk(), *[bytes(2**20)] * 70), PolicyReplyError, "get_action with several frames, expected one"),
        pytest.param(bytes(MOST_BYTES + 1), PolicyLostError, "broke", id="too long"),
        ({}, PolicyReplyError, "expected actions"),
        ([], PolicyReplyError, "expected actions"),
        ([{}, {}], PolicyReplyError, r"NoneType for action.x, expected the shape \(1, n, 1\)"),
        (
            [{**chunk()[0], "action.z": np.zeros((2, 16, 1))}, {}],
            PolicyReplyError,
            r"\(2, 16, 1\) for action.z",
        ),
        ([{**chunk()[0], "action.yaw": np.zeros((1, 3, 1))}, {}], PolicyReplyError, "steps"),
    ],
)
def test_a_wrong_reply_is_an_error_that_says_what_came(reply, error, words):
    with gr00t_server(lambda *_: reply) as server:
        model = opened(server.url)
        with pytest.raises(error, match=words):
            model.infer(observation())
        server.answer = lambda *_: chunk()
        model.reset(EPISODE)
        assert len(model.infer(observation())) == 16
        model.close()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (modalities(video=["image", "ego_view"]), "video 'ego_view'; there are: image, wrist_image"),
        (modalities(state=["joints"]), "state 'joints'"),
        (modalities(language=["a", "b"]), "not one key"),
        ([1], "expected a map"),
        ({"video": {"as_json": "no json"}}, "modality 'video'"),
        ({"video": 3}, "modality 'video'"),
    ],
)
def test_a_server_that_wants_what_libero_lacks_is_told_so_at_once(config, words):
    with gr00t_server(config=config) as server, pytest.raises(PolicyReplyError, match=words):
        opened(server.url)


def test_more_than_one_step_of_images_is_not_had():
    config = modalities()
    config["video"]["as_json"]["delta_indices"] = [-1, 0]
    with gr00t_server(config=config) as server, pytest.raises(PolicyReplyError, match="2 steps of video"):
        opened(server.url)


def test_a_slow_first_reply_is_waited_for_and_a_late_one_ends_the_connection():
    def answer(n, _):
        time.sleep(1.2 if n in (1, 3) else 0)
        return chunk(x=n / 8)

    with gr00t_server(answer) as server:
        model = opened(server.url, Deadlines(connect_s=5, first_reply_s=10, reply_s=0.4))
        assert model.infer(observation())[0, 0] == 1 / 8
        assert model.infer(observation())[0, 0] == 2 / 8
        with pytest.raises(PolicyLostError, match=r"did not reply to get_action within 0\.4 s"):
            model.infer(observation())
        model.reset(EPISODE)
        assert model.infer(observation())[0, 0] == 4 / 8
        model.close()


def test_a_server_that_dies_is_noticed_at_once_and_found_again_when_it_is_back():
    def answer(n, _):
        if n == 2:
            raise SystemExit
        return chunk()

    with gr00t_server(answer) as server:
        model = opened(server.url, Deadlines(connect_s=20, first_reply_s=60, reply_s=60))
        model.infer(observation())
        started = time.monotonic()
        with pytest.raises(PolicyLostError, match="broke"):
            model.infer(observation())
        assert time.monotonic() - started < 10
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(PolicyUnavailableError, match="no policy server"):
        Gr00tModel(server.url, Deadlines(connect_s=0.2)).connect()
    done = threading.Event()

    def serve_later():
        time.sleep(1)
        with gr00t_server(port=port):
            done.wait(20)

    thread = threading.Thread(target=serve_later)
    thread.start()
    try:
        model.reset(EPISODE)  # waits for it
        assert len(model.infer(observation())) == 16
        model.close()
    finally:
        done.set()
        thread.join()


def test_other_modalities_at_the_same_address_are_noticed():
    with gr00t_server() as server:
        first = Gr00tModel(server.url, QUICK)
        digest, metadata = first.connect()
        assert metadata == {}  # it does not say which policy it is
        first.close()
        same = opened(server.url, expected=digest)
        same.close()
        server.config = modalities(video=["image"])
        with pytest.raises(PolicyUnavailableError, match="another policy than before"):
            same.reset(EPISODE)


def test_the_token_is_sent_and_never_shown(monkeypatch):
    monkeypatch.setenv("GR00T_API_TOKEN", "secret-1")
    with gr00t_server(token="secret-1") as server:
        opened(server.url).close()
        monkeypatch.setenv("GR00T_API_TOKEN", "secret-2")
        with pytest.raises(PolicyUnavailableError, match="Unauthorized") as caught:
            opened(server.url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["gr00t://", "gr00t://h", "gr00t://h:port", "gr00t://h:0", "gr00t://me:x@h:1"]
)
def test_what_is_no_address_is_said_to_be_none(url):
    with pytest.raises(UsageError, match="no address"):
        Gr00tModel(url, QUICK)


def test_a_version_of_ones_own_takes_no_other_modalities_either():
    with gr00t_server() as server:
        source = resolve(server.url, PolicyOptions(version="checkpoint-7", deadlines=QUICK))
        assert source.version == "checkpoint-7+replan8"
        server.config = modalities(video=["image"])
        with pytest.raises(PolicyUnavailableError, match="another policy than before"):
            source.make().reset(EPISODE)
        server.config = modalities(video=["ego_view"])
        with pytest.raises(PolicyReplyError, match="there are: image"):
            resolve(server.url, PolicyOptions(version="checkpoint-7", deadlines=QUICK))


@pytest.mark.libero
def test_it_is_recorded_as_other_policies_are(rendering, tmp_path):
    with gr00t_server(lambda *_: chunk(x=0.5, gripper=0.0)) as server:
        result = record(server, tmp_path / "runs", "--horizon", 10)
    assert result.exit_code == 0, result.output
    dataset = Dataset(tmp_path / "runs")
    trace = dataset.load(dataset.records[0])
    assert np.array_equal(trace.action[10:], [[0.5, 0, 0, 0, 0, 0, 1.0]] * 10)
    assert len(server.requests) == 2  # eight actions of a chunk are played
    assert (trace.metadata.policy, trace.metadata.policy_version) == (server.url, "0+replan8")

"""The API server stand-in keeps the rules of a real server: the cases of api_kit.py, which
tests/e2e/test_standin_is_true.py runs against a real kube-apiserver."""

import pytest

from api_cases_read import *  # noqa: F403
from api_cases_write import *  # noqa: F403
from api_kit import Api
from harness import ApiClient


class StandInApi(Api):
    def __init__(self, standin):
        super().__init__(standin.url, "admin")
        self.standin = standin

    def stranger(self, token=None):
        return ApiClient(self.url, token)

    def user(self, *rules):
        row = {"token": "limited", "user": "limited-user", "rules": rules}
        self.standin.admin("auth", {"tokens": [row]})
        return ApiClient(self.url, "limited"), "limited-user"

    def forget(self):
        self.standin.admin("compact", {})

    def promise_metrics(self, is_promised):
        self.standin.admin("nodemetrics", {"on": is_promised, "available": False})


@pytest.fixture(scope="module")
def server(module_start_standin):
    return StandInApi(module_start_standin("--token", "admin"))


@pytest.fixture
def api(server):
    server.clear()
    return server

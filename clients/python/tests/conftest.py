"""The server that the tests use is at SHEAF_URL."""

import os
import uuid

import pytest

from sheaf_client import AsyncSheaf, Sheaf

URL = os.environ["SHEAF_URL"]


@pytest.fixture
def sheaf():
    with Sheaf(URL) as client:
        yield client


@pytest.fixture
def collection(sheaf):
    return sheaf.collection(f"c-{uuid.uuid4()}")


@pytest.fixture
def in_async(collection):
    """The same collection by the async client; closed with the event loop of its test."""
    return lambda: AsyncSheaf(URL).collection(collection.name)

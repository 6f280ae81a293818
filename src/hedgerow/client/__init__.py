"""The learner's side of a curator's service."""

from hedgerow.client.connect import RemoteCurator, RemoteDataset, connect
from hedgerow.client.oracle import RemoteOracle

__all__ = ["RemoteCurator", "RemoteDataset", "RemoteOracle", "connect"]

"""The learner's side of a curator's service."""

from hedgerow.client.connect import RemoteCurator, RemoteDataset, RemoteOracle, connect

__all__ = ["RemoteCurator", "RemoteDataset", "RemoteOracle", "connect"]

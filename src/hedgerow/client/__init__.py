"""The learner's side of a curator's service."""

from hedgerow.client.connect import RemoteCurator, RemoteDataset, connect
from hedgerow.client.federated import FederatedOracle
from hedgerow.client.oracle import RemoteOracle

__all__ = ["FederatedOracle", "RemoteCurator", "RemoteDataset", "RemoteOracle", "connect"]

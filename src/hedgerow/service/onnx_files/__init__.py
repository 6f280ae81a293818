"""Classifiers from ONNX files: parsed into data, and never run by a runtime."""

from hedgerow.service.onnx_files.read import LARGEST_ONNX, read_onnx

__all__ = ["LARGEST_ONNX", "read_onnx"]

"""The label-only membership attack on raw values, binarised again for each query (SSRL, Appendix C.2)."""

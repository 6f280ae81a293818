"""Reports on a model for a review board: a public sheet, and one with exact functions of the rows, never mixed."""

from hedgerow.report.contents import Bucket, Finding, Grid, Section, Sheet, SheetLine
from hedgerow.report.exports import acro_results, crate_zip, registry_yaml
from hedgerow.report.form import Form, empty_form
from hedgerow.report.releases import PastRelease, Releases
from hedgerow.report.report import Comparison, Report
from hedgerow.report.sacro import sacro_target
from hedgerow.report.subject import Subject

__all__ = [
    "Bucket",
    "Comparison",
    "Finding",
    "Form",
    "Grid",
    "PastRelease",
    "Releases",
    "Report",
    "Section",
    "SheetLine",
]
__all__ += ["Sheet", "Subject", "acro_results", "crate_zip", "empty_form", "registry_yaml", "sacro_target"]

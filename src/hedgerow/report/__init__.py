"""Reports on a model for a review board: a public sheet, and a separate sheet with exact functions of the rows."""

from hedgerow.report.appetite import Appetite, ThresholdDifference, appetite_template
from hedgerow.report.checks import CATALOGUE, Check, Status
from hedgerow.report.comparison import Comparison
from hedgerow.report.contents import Cell, Column, Grid, Section, Sheet, SheetLine
from hedgerow.report.exports import acro_results, crate_zip, registry_yaml
from hedgerow.report.files import FileDigest, file_digests
from hedgerow.report.form import Form, empty_form
from hedgerow.report.record import airlock_record, airlock_schema, record_json
from hedgerow.report.releases import PastRelease, Releases
from hedgerow.report.report import Report
from hedgerow.report.sacro import sacro_target
from hedgerow.report.statement import Statement
from hedgerow.report.subject import Subject

__all__ = [
    "CATALOGUE",
    "Appetite",
    "Cell",
    "Check",
    "Column",
    "Comparison",
    "FileDigest",
    "Form",
    "Grid",
    "PastRelease",
    "Releases",
    "Report",
    "Section",
    "Sheet",
    "SheetLine",
    "Statement",
    "Status",
    "Subject",
    "ThresholdDifference",
    "acro_results",
    "airlock_record",
    "airlock_schema",
    "appetite_template",
    "crate_zip",
    "empty_form",
    "file_digests",
    "record_json",
    "registry_yaml",
    "sacro_target",
]

"""Text that a query could take for something else."""

HOSTILE = [
    *("a'b", 'a"b', "a\\b", "\\", "'", "''", "\\'", "'; DROP TABLE t; --", "${env:HOME}", "$${a}", "%s", "{0}", "a\nb"),
    *(
        "a\n\n\nb",
        "a\n000001b",
        "000001a",
        "-00002",
        "-00002a",
        "a\r\nb",
        "a\tb",
        "é",
        "e\u0301",
        "A",
        "a",
        "ａ",
        "ß",
        "SS",
    ),
    *("$1", "\\1", "a,b", "[]", "a\u2028b", "1e5", "007", "NULL", "NaN", "inf"),
]

# Predicts on the rows of files, for tests/models/test_r.py.
library(hedgerow)
arguments <- commandArgs(TRUE)
hex <- function(x) sprintf("%a", x)

column <- function(data) {
  text <- vapply(data$values, function(x) if (is.null(x)) NA_character_ else x, "")
  switch(data$type, logical = as.logical(text), integer = as.integer(text), factor = factor(text),
         double = as.numeric(ifelse(text %in% "nan", "NaN", text)),
         Date = structure(as.numeric(text), class = "Date"), POSIXct = as.POSIXct(text, tz = "UTC"), text)
}

said <- function(model, rows) {
  if (model$target$number) return(list(said = hex(predict(model, rows))))
  shares <- predict(model, rows, type = "prob")
  list(said = as.character(predict(model, rows)), shares = lapply(seq_len(ncol(shares)), function(k) I(hex(shares[, k]))))
}

if (arguments[1] == "compare") for (number in seq_len(as.integer(arguments[3]))) {
  path <- function(end) file.path(arguments[2], paste0(number, end))
  columns <- jsonlite::fromJSON(path(".rows"), simplifyVector = FALSE)
  rows <- as.data.frame(lapply(columns, column), stringsAsFactors = FALSE, optional = TRUE)
  names(rows) <- vapply(columns, `[[`, "", "name")
  model <- read_model(path(".json"))
  found <- tryCatch(said(model, rows), error = function(e) list(refused = conditionMessage(e)))
  writeLines(jsonlite::toJSON(found), path(".said"), useBytes = TRUE)
}
if (arguments[1] == "read") for (path in dir(arguments[2], full.names = TRUE)) {
  message <- tryCatch({ read_model(path); "it was read" }, error = conditionMessage)
  cat(basename(path), "\t", message, "\n", sep = "")
}
if (arguments[1] == "csv") cat(as.character(predict(read_model(arguments[2]), read.csv(arguments[3], stringsAsFactors = TRUE))), sep = "\n")
if (arguments[1] == "print") print(read_model(arguments[2]), full = length(arguments) > 2)
if (arguments[1] == "conditions") cat(as.data.frame(read_model(arguments[2]))$condition, sep = "\n")
